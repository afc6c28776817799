import { fakeClock, modelStore, START } from '@spillway/conformance'
import {
  type Duration,
  penalty,
  perMinute,
  type Quota,
  rateLimiter,
  type Store,
  StoreError,
  withDenyCache,
} from '@spillway/core'
import { describe, expect, test } from 'vitest'
import { LOGIN, minute } from './penalties.ts'
import { remoteOnly } from './remote.ts'

describe('a limiter with a penalty', () => {
  const limiterOn = (store: Store, quotas: Readonly<Record<string, Quota>> = { login: penalty(LOGIN) }) =>
    rateLimiter({ store, quotas })

  test('blocks a key by hand for exactly that long, and no other key', async () => {
    const clock = fakeClock()
    const limiter = limiterOn(modelStore(clock))
    await limiter.block('alice', '2m')
    const denied = await limiter.consume('alice')
    expect(denied).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 120_000 })
    expect((await limiter.consume('bob')).allowed).toBe(true)
    clock.advanceMicros(2 * minute - 1)
    expect((await limiter.peek('alice')).retryAfterMs).toBe(0.001)
    clock.advanceMicros(1)
    expect((await limiter.consume('alice')).remaining).toBe(4)
  })

  test('is not unblocked by the refund of a request that began before a block by hand', async () => {
    const limiter = limiterOn(modelStore(() => START))
    const reservation = await limiter.reserve('alice')
    await limiter.block('alice', '2m')
    await reservation.cancel()
    await limiter.refund('alice', 5)
    expect((await limiter.peek('alice')).allowed).toBe(false)
  })

  test('never shortens a block by hand, and unblocks as if there had been none', async () => {
    const clock = fakeClock()
    const limiter = limiterOn(modelStore(clock))
    await limiter.block('alice', '2h')
    await limiter.block('alice', '1m')
    expect((await limiter.peek('alice')).retryAfterMs).toBe(7_200_000)
    await limiter.unblock('alice')
    await limiter.unblock('never blocked')
    expect(await limiter.consume('alice', 5)).toMatchObject({ allowed: true, remaining: 0, resetAfterMs: 900_000 })
    await limiter.unblock('alice')
    expect((await limiter.peek('alice')).remaining).toBe(5)
  })

  test('reports the longer wait while another policy denies, and consumes nothing of it', async () => {
    const clock = fakeClock()
    const quotas = { requests: perMinute(1), login: penalty({ ...LOGIN, after: 2 }) }
    const limiter = limiterOn(modelStore(clock), quotas)
    await limiter.consume('alice')
    for (let i = 0; i < 9; i++) expect((await limiter.consume('alice')).violated).toEqual(['requests'])
    await limiter.block('alice', '1h')
    const denied = await limiter.consume('alice')
    expect(denied).toMatchObject({ policy: 'login', violated: ['requests', 'login'], retryAfterMs: 3_600_000 })
    clock.advanceMicros(minute)
    expect((await limiter.consume('alice')).violated).toEqual(['login'])
    await limiter.unblock('alice')
    expect((await limiter.consume('alice')).allowed).toBe(true)
  })

  test('denies by its deny cache for the rest of the block, and after unblock by this process not at all', async () => {
    let [nowMs, calls] = [0, 0]
    const model = modelStore(() => START + nowMs * 1_000)
    const counting: Store = {
      ...model,
      take: (...args) => model.take(...args).finally(() => calls++),
      takeEach: undefined as never,
    }
    const limiter = limiterOn(withDenyCache(remoteOnly(counting), { for: '1h', stopwatch: () => nowMs }))
    await limiter.block('alice', '1m')
    await limiter.consume('alice')
    calls = 0
    nowMs = 59_999
    expect((await limiter.consume('alice')).retryAfterMs).toBe(1)
    expect(calls).toBe(0)
    await limiter.unblock('alice')
    expect((await limiter.consume('alice')).allowed).toBe(true)
  })

  test('starts the block again at each request through a deny cache, if the penalty extends', async () => {
    let nowMs = 0
    const model = modelStore(() => START + nowMs * 1_000)
    const quotas = { scraper: penalty({ after: 1, within: '1m', block: '1m', extend: true }) }
    const limiter = limiterOn(withDenyCache(remoteOnly(model), { for: '1h', stopwatch: () => nowMs }), quotas)
    await limiter.consume('alice')
    for (nowMs of [30_000, 60_000, 90_000]) expect((await limiter.consume('alice')).retryAfterMs).toBe(60_000)
  })

  test('blocks keys of 15 kB apart', async () => {
    const limiter = limiterOn(modelStore(() => START))
    const [one, other] = ['a', 'b'].map((end) => 'k'.repeat(15_000) + end) as [string, string]
    await limiter.block(one, '1m')
    expect([(await limiter.peek(one)).allowed, (await limiter.peek(other)).allowed]).toEqual([false, true])
  })

  test.each(['0m', Number.NaN, -1, '', undefined, '15 m'])('rejects block for %o', async (duration) => {
    const limiter = limiterOn(modelStore(() => START))
    await expect(limiter.block('alice', duration as Duration)).rejects.toThrow(
      'block duration must be a positive duration',
    )
    expect((await limiter.peek('alice')).remaining).toBe(5)
  })

  test('rejects an empty key', async () => {
    await expect(limiterOn(modelStore(() => START)).block('', '1m')).rejects.toThrow('key must be a non-empty string')
  })

  test('rejects if the store fails, and blocks the key in this process while it does', async () => {
    const failing: Store = {
      take: () => Promise.reject(new StoreError('error', 'down')),
      delete: () => Promise.reject(new StoreError('error', 'down')),
    }
    const limiter = limiterOn(failing)
    await expect(limiter.block('alice', '1h')).rejects.toThrow(StoreError)
    expect(await limiter.consume('alice')).toMatchObject({ allowed: false, degraded: { action: 'local' } })
    await expect(limiter.unblock('alice')).rejects.toThrow(StoreError)
    expect((await limiter.consume('alice')).allowed).toBe(true)
  })
})
