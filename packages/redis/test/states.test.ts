import { perDay, perMinute, rateLimiter, slidingLog, tokenBucket } from '@spillway/core'
import { expect, test } from 'vitest'
import { redisStore } from '../src/index.ts'
import { client } from './commands.ts'

test.each([
  ['shop', 'shop:1{alice}api'],
  ['{shop}', '{shop}:1{alice}api'],
])('puts the prefix %s before every key', async (prefix, name) => {
  const store = redisStore(client, { prefix })
  await rateLimiter({ quota: perMinute(1), store, name: 'api', deadline: '10s' }).consume('alice')
  expect(await client.keys('*')).toEqual([name])
})

test.each(['', 'x', 'w', 'w:1', 'l', 'lx', 'e', 'ex', 'exy', 'e\xc1', 'exy\xa1a', 'l\xc1', 'nan', 'inf', '1.5'])(
  'a state that reads %j counts as none',
  async (value) => {
    const limiter = rateLimiter({ quota: perDay(3), store: redisStore(client), deadline: '10s' })
    const log = rateLimiter({
      quota: slidingLog({ limit: 3, window: '1d' }),
      store: redisStore(client),
      name: 'log',
      deadline: '10s',
    })
    for (const name of ['spillway:1{a}', 'spillway:1{a}log']) await client.set(name, Buffer.from(value, 'latin1'))
    expect((await limiter.consume('a')).remaining).toBe(2)
    expect((await log.consume('a')).remaining).toBe(2)
  },
)

test('a Redis hash of another program counts as no state', async () => {
  await client.hset('spillway:1{a}', 'field', 'value')
  const limiter = rateLimiter({ quota: perDay(3), store: redisStore(client), deadline: '10s' })
  expect((await limiter.consume('a')).remaining).toBe(2)
})

test('keeps the full bucket of a key with an initial level for as long as the level counts', async () => {
  const quota = tokenBucket({ limit: 5, per: '1s', initial: 0, keepFull: '1h' })
  const limiter = rateLimiter({ quota, store: redisStore(client), deadline: '10s' })
  expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 200 })
  expect(await client.pttl('spillway:1{a}')).toBeGreaterThan(3_600_000)
})
