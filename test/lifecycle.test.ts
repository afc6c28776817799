import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { perMinute, rateLimiter } from '@spillway/core'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { PROGRAM } from './program.ts'
import { freePort, type Redis as Server, startRedis } from './services/redis.ts'

let server: Server
let unusedPort: number
beforeAll(async () => {
  server = await startRedis()
  unusedPort = await freePort()
})
afterAll(() => server.stop())

describe.each(['Express', 'Node'])(
  'an app of %s is made, asked twenty times at once, and closed, with',
  (framework) => {
    test.each([
      ['memory', 'nothing else'],
      ['redis', 'its server'],
      ['redis with leases', 'its server'],
      ['redis', 'no server'],
      ['redis with leases', 'no server'],
      ['postgres', 'no server'],
    ])('%s and %s: all pass, and its process ends by itself', async (kind, where) => {
      const port = where === 'its server' ? server.port : unusedPort
      const file = fileURLToPath(new URL('lifecycle/program.ts', import.meta.url))
      const child = fork(file, [kind, String(port), framework], { execArgv: [...PROGRAM], stdio: 'pipe' })
      onTestFinished(() => void child.kill('SIGKILL'))
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said = `${said}${chunk}`))
      let statuses: unknown
      child.on('message', (message) => {
        statuses = message
      })
      const [code] = await once(child, 'exit')
      // A promise that fails unheard ends a process with 1.
      expect({ code, statuses, said }).toMatchObject({ code: 0, statuses: Array.from({ length: 20 }, () => 200) })
      expect(said).not.toMatch(/unhandled|MaxListeners/i)
    })
  },
)

// Reproduces a bug: each store added listeners to its client, although the first had.
test('stores share the listeners of a client, and limiters add none, however many', async () => {
  const client = new Redis(server.port)
  redisStore(client)
  await client.ping()
  const listeners = (): number => client.eventNames().reduce((sum, event) => sum + client.listenerCount(event), 0)
  const before = { client: listeners(), process: process.listenerCount('exit') + process.listenerCount('beforeExit') }
  for (let i = 0; i < 100; i++) {
    await rateLimiter({ quota: perMinute(1_000), store: redisStore(client), deadline: '10s' }).consume('a')
  }
  const after = { client: listeners(), process: process.listenerCount('exit') + process.listenerCount('beforeExit') }
  expect(after).toEqual(before)
  client.disconnect()
})
