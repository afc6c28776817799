import { Readable } from 'node:stream'
import { rateLimiter } from '@spillway/core'
import { policiesFrom } from '@spillway/core/rules'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis } from '../../../test/services/redis.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

// Text that clients choose reaches the terminal of an operator. None of it may act there.

const HOSTILE: Readonly<Record<string, string>> = {
  'a cleared screen': '\u001b[2J\u001b[H',
  'a title': '\u001b]0;owned\u0007',
  'a link': '\u001b]8;;http://evil.example\u001b\\click\u001b]8;;\u001b\\',
  'an 8-bit control sequence': '\u009b2J\u009d0;owned\u009c',
  'a carriage return': 'bad\rgood',
  'a line feed': 'bad\n192.0.2.9  1  5',
  backspaces: 'bad\b\b\bok',
  'null and delete': '\u0000\u007f',
  'an override of the direction': '\u202egnp.exe\u2066\u2069\u061c\u200f',
  'characters that are not seen': 'a\u200bd\u200cm\u2060i\ufeffn\u00ad',
  'line separators': 'a\u2028b\u2029c\u0085d',
  'half a character': '\ud800x\udc00',
  tags: '\u{e0041}\u{e0042}',
}

/** All that must not be printed, but for the line feed. */
const ACTS = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

const rules = [
  bucket('one', { limit: 1, per: '1h', burst: 5 }, { limit_keys: ['header:x-key'] }),
  bucket('two', { limit: 1, per: '1h', burst: 5 }, { limit_keys: ['ip', 'header:x-key'] }),
]
const names = Object.keys(HOSTILE)
const log = names
  .flatMap((name) => {
    const text = HOSTILE[name] as string
    const line = JSON.stringify({
      time: '2026-01-05T00:00:00Z',
      ip: '192.0.2.1',
      method: text,
      path: `/${text}`,
      status: 200,
      headers: { 'x-key': text, 'user-agent': text },
    })
    return [
      line,
      line,
      `${text} not a line`,
      `192.0.2.1 - ${text} [05/Jan/2026:00:00:00 +0000] "GET /${text} HTTP/1.1" 200 5`,
    ]
  })
  .join('\n')
const folder = folderOf({ 'policies.json': JSON.stringify(rules), 'access.log': log })
const [policy, access] = [folder.path('policies.json'), folder.path('access.log')]

let server: Awaited<ReturnType<typeof startRedis>>
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.port, '127.0.0.1')
})
afterAll(async () => {
  folder.remove()
  redis.disconnect()
  await server.stop()
})

test.each(names)('top and inspect print a key with %s without it', async (name) => {
  await redis.flushall()
  const key = HOSTILE[name] as string
  const [one, two] = policiesFrom(rules).map(({ name, quota }) =>
    rateLimiter({ name, quota, store: redisStore(redis), deadline: '10s' }),
  )
  await one?.consume(key, 5)
  await two?.consume(`9:192.0.2.1${key.length}:${key}`, 5)
  const url = `redis://127.0.0.1:${server.port}`
  const printed = await spillway(['top', '--redis', url, '--policy', policy])
  expect([printed.exitCode, ACTS.test(printed.out + printed.err)]).toEqual([0, false])
  expect(printed.out.match(/^.*100 %.*$/gm)).toHaveLength(2)
})

test.each([
  ['suggest', ['suggest', access, '--key', 'header:x-key', '--key', 'path', '--key', 'ip']],
  ['replay', ['replay', access, '--policy', policy]],
  ['suggest of nonsense', ['suggest', '-']],
])('%s prints no text of a log that acts on the terminal', async (_, args) => {
  const stdin = Readable.from([Object.values(HOSTILE).join('\n')])
  const { out, err } = await spillway(args, { stdin })
  expect(out + err).not.toMatch(ACTS)
})
