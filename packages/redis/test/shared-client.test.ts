import { perDay, perMinute, rateLimiter } from '@spillway/core'
import { expect, test } from 'vitest'
import { redisStore } from '../src/index.ts'
import { client } from './commands.ts'

// Reproduces a bug: each store had its own deny cache. After one store had reset a key, the other denied it for 1 s.
test.each([
  ['the same', {}],
  ['no deny cache', { denyCache: false as const }],
])(
  'stores of one client and prefix share a deny cache: a reset through a second one, with %s, is known to the first',
  async (_, options) => {
    const first = rateLimiter({ quota: perDay(10), store: redisStore(client, { denyCache: '1h' }), deadline: '10s' })
    const second = rateLimiter({ quota: perDay(10), store: redisStore(client, options), deadline: '10s' })
    await first.consume('a', 10)
    expect((await first.consume('a')).allowed).toBe(false)
    await second.reset('a')
    expect((await first.consume('a', 10)).allowed).toBe(true)
  },
)

test.each([{ prefix: 'other' }, { hashKeys: 'a secret of many characters' }])(
  'a store with %j shares no deny cache with one without',
  async (options) => {
    const store = redisStore(client, options)
    const [one, other] = [redisStore(client), store].map((each) =>
      rateLimiter({ quota: perDay(10), store: each, deadline: '10s' }),
    )
    await one?.consume('a', 10)
    await one?.consume('a')
    expect((await other?.consume('a'))?.allowed).toBe(true)
  },
)

// Reproduces a bug: the README's line was used twice. After 100 calls of one route, the first login was denied.
test('two limiters of one name on one client have one quota', () => {
  rateLimiter({ quota: perMinute(100), store: redisStore(client) })
  const strict = (options?: object) => rateLimiter({ quota: perMinute(5), store: redisStore(client, options) })
  for (const options of [{}, { denyCache: false }, { lease: 5 }, { hashKeys: 'correct horse battery' }]) {
    expect(() => strict(options)).toThrow('two limiters on one database are named "default"')
  }
  strict({ prefix: 'shop' })
})
