import { QuotaError } from '@spillway/core'
import fc from 'fast-check'
import { Redis as Ioredis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { redisStore } from '../src/index.ts'
import { namerOf } from '../src/name.ts'
import { slotOf } from '../src/slot.ts'

let server: Redis
let client: Ioredis
beforeAll(async () => {
  server = await startRedis({ settings: { 'cluster-enabled': 'yes' } })
  client = new Ioredis({ port: server.port })
})
beforeEach(() => client.flushall())
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: fc.constantFrom('{', '}', '~', 'a', ':', '\ud83d'), maxLength: 6 }),
)

test('no two states share a name, and the states of one key share a slot', () => {
  const names = new Map([['spillway:1{a}', JSON.stringify(['default', 'a'])]])
  fc.assert(
    fc.property(text, text, text, (policy, other, key) => {
      for (const each of [policy, other]) {
        const name = namerOf('spillway')({ policy: each, key })
        const whose = JSON.stringify([each, key])
        expect(names.get(name) ?? whose).toBe(whose)
        names.set(name, whose)
      }
      const [first, second] = [policy, other].map((each) => slotOf(namerOf('spillway')({ policy: each, key })))
      expect(first).toBe(second)
    }),
    { numRuns: 2_000 },
  )
})

test('computes the same hash slot as the server', async () => {
  const names = [
    '123456789',
    'foo{}{bar}',
    'foo{{bar}}zap',
    'foo{bar}{zap}',
    '{}',
    '',
    'é{💧}',
    ...fc.sample(text, 200),
  ]
  for (const name of names) expect(slotOf(name), name).toBe(await client.cluster('KEYSLOT', name))
})

test.each([
  ['alice', 'spillway:1{alice}api'],
  ['10.0.0.1', 'spillway:1{10.0.0.1}api'],
  ['', 'spillway:1{~47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU}api'],
  ['a}b', /^spillway:1\{~[\w-]{43}\}api$/],
  ['k'.repeat(10_000), /^spillway:1\{~[\w-]{43}\}api$/],
])('names the state of %s', (key, name) => {
  expect(namerOf('spillway')({ policy: 'api', key })).toMatch(name)
})

test.each(['', 'a b', 'a{b', 'a}b', 'a{}', '{a}{b}', 'é', 'a\n', 1, []])('rejects the prefix %j', (prefix) => {
  expect(() => redisStore(client, { prefix } as never)).toThrow(QuotaError)
  expect(() => redisStore(client, { prefix } as never)).toThrow(/prefix must be printable ASCII/)
})

test.each(['a', 'my-app:prod', '{shop}', 'a{shop}b'])('accepts the prefix %j', (prefix) => {
  expect(() => redisStore(client, { prefix })).not.toThrow()
})
