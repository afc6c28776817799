import { modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { penalty, perMinute, rateLimiter } from '../src/index.ts'
import { HOUR } from './blocking.ts'

describe('blocked keys', () => {
  test('are listed with their use and their rest, and are reported by inspect', async () => {
    const limiter = rateLimiter({ quota: perMinute(10), blocks: true, store: modelStore(() => START) })
    for (const [key, units] of [
      ['a', 7],
      ['b', 3],
      ['c', 1],
    ] as const)
      await limiter.consume(key, units)
    await limiter.block('b', '1h')
    await limiter.block('unused', '2h')
    const rows = async (options: object) =>
      (await limiter.list(options)).keys.map(({ key, blockedMs, decision }) => [key, blockedMs, decision.remaining])
    expect(await rows({})).toEqual([
      ['a', 0, 3],
      ['b', HOUR, 7],
      ['c', 0, 9],
    ])
    expect(await rows({ blocked: true })).toEqual([
      ['unused', 2 * HOUR, 10],
      ['b', HOUR, 7],
    ])
    expect(await rows({ blocked: true, limit: 1 })).toEqual([['unused', 2 * HOUR, 10]])
    expect(await limiter.inspect('b')).toMatchObject([
      { policy: 'default', blockedMs: HOUR, available: [{ units: 1, afterMs: HOUR }, { units: 5, afterMs: HOUR }, {}] },
    ])
    expect((await limiter.list({ blocked: true })).policy).toBe('default')
    await expect(limiter.list({ policy: 'default (blocked)' })).rejects.toThrow('one policy of this limiter, "default"')
  })

  test('of a penalty are listed without the option, by its own blocks and those by hand', async () => {
    const quota = penalty({ after: 2, within: '1m', block: '5m' })
    const limiter = rateLimiter({ quota, store: modelStore(() => START) })
    await limiter.consume('a', 2)
    await limiter.consume('b', 1)
    await limiter.block('c', '1h')
    const keys = (await limiter.list()).keys.map(({ key, blockedMs }) => [key, blockedMs])
    expect(keys).toEqual([
      ['c', HOUR],
      ['a', 300_000],
      ['b', 0],
    ])
    expect((await limiter.list({ blocked: true })).keys.map(({ key }) => key)).toEqual(['c', 'a'])
    expect((await limiter.inspect('a'))[0]).toMatchObject({ blockedMs: 300_000 })
  })
})
