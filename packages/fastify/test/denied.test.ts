import fastify, { type FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

// onDenied answers itself, like a Fastify hook.

test.each<[string, RateLimitOptions['onDenied'], number, string]>([
  ['redirects', (_request, _decision, reply) => reply.redirect('/slow'), 302, ''],
  ['sends', (_request, _decision, reply) => reply.code(503).send('busy'), 503, 'busy'],
  [
    'sends later',
    async (_request, _decision, reply) => {
      await new Promise((resolve) => setImmediate(resolve))
      return reply.code(503).send('busy')
    },
    503,
    'busy',
  ],
  [
    'sends when it has returned',
    (_request, _decision, reply) => {
      setImmediate(() => reply.code(503).send('busy'))
    },
    503,
    'busy',
  ],
])('it %s, and nothing more is sent', async (_, onDenied, status, text) => {
  const app = fastify()
  app.addHook('onRequest', rateLimit({ quota: perMinute(1), key: () => 'a', ...(onDenied && { onDenied }) }))
  app.get('/', async () => 'ok')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  await fetch(url)
  const response = await fetch(url, { redirect: 'manual' })
  expect([response.status, await response.text()]).toEqual([status, text])
  expect(response.headers.get('ratelimit')).toBe('"default";r=0;t=60')
  await app.close()
})

// Nothing missed the check before the answer: an answer that comes too late would be sent a second time.
test.each(['answer', 'nothing'])(
  'sends no second answer if onDenied returns %s after a timeout has answered',
  async (kind) => {
    const lines: string[] = []
    const app = fastify({ logger: { level: 'warn', stream: { write: (line: string) => void lines.push(line) } } })
    const replies: FastifyReply[] = []
    const sent: unknown[] = []
    let answer = (_: object | undefined): void => {}
    const onDenied = (): Promise<object | undefined> =>
      new Promise((resolve) => {
        answer = resolve
        replies[1]?.code(503).send('timeout')
      })
    app.addHook('onRequest', async (_, reply) => void replies.push(reply))
    app.addHook('onRequest', rateLimit({ quota: perMinute(1), onDenied }))
    app.addHook('onSend', async (_, __, payload) => void sent.push(payload))
    app.get('/', async () => 'ok')
    await app.inject('/')
    expect((await app.inject('/')).body).toBe('timeout')
    answer(kind === 'answer' ? { body: 'late', headers: { 'x-late': '1' } } : undefined)
    await new Promise(setImmediate)
    expect([sent, lines, replies[1]?.hasHeader('x-late')]).toEqual([['ok', 'timeout'], [], false])
  },
)
