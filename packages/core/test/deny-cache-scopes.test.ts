import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { type DenyCacheOptions, perMinute, type RateLimiter, rateLimiter, withDenyCache } from '../src/index.ts'

describe('wrappers of one scope', () => {
  const setUpTwo = (options: readonly [DenyCacheOptions, DenyCacheOptions]) => {
    const clock = fakeClock()
    const behind = faultyStore(modelStore(clock))
    const [one, two] = options.map((each) =>
      rateLimiter({
        quota: perMinute(10),
        name: 'p',
        store: withDenyCache(behind, { ...each, for: each.for ?? '1h' }),
      }),
    ) as [RateLimiter, RateLimiter]
    return { behind, one, two }
  }

  // Two stores of one process had caches of their own: a key that one had reset was denied by the other for a second.
  test.each([{}, { for: false as const }])('allow at once what another has reset or refunded: %j', async (other) => {
    const scope = {}
    const { one, two } = setUpTwo([{ scope }, { scope, ...other }])
    await one.consume('a', 10)
    expect((await one.consume('a')).allowed).toBe(false)
    await two.reset('a')
    expect((await one.consume('a', 10)).allowed).toBe(true)
    expect((await one.consume('a')).allowed).toBe(false)
    await two.refund('a')
    expect((await one.consume('a')).allowed).toBe(true)
  })

  test('deny what another was denied, without a call', async () => {
    const scope = {}
    const { behind, one, two } = setUpTwo([{ scope }, { scope }])
    await one.consume('a', 10)
    await one.consume('a')
    const { calls } = behind
    expect((await two.consume('a')).allowed).toBe(false)
    expect(behind.calls).toBe(calls)
  })

  test('ask each time where the cache is off', async () => {
    const { behind, one } = setUpTwo([{ for: false }, {}])
    await one.consume('a', 10)
    for (let i = 0; i < 3; i++) expect((await one.consume('a')).allowed).toBe(false)
    expect(behind.calls).toBe(4)
  })

  test('of another scope know nothing of each other', async () => {
    const { behind, one, two } = setUpTwo([{}, {}])
    await one.consume('a', 10)
    await one.consume('a')
    const { calls } = behind
    await two.consume('a')
    expect(behind.calls).toBe(calls + 1)
  })
})
