import { modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import {
  perMinute,
  rateLimiter,
  type Store,
  StoreError,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '../src/index.ts'
import { HOUR, remote } from './blocking.ts'

describe('a block in front of a store', () => {
  test('with a deny cache: ends in other processes a second after unblock at the latest, and starts at once', async () => {
    let nowMs = 0
    const { store, sent } = remote(modelStore(() => START + nowMs * 1_000))
    const processes = [0, 1].map(() =>
      rateLimiter({
        quota: perMinute(5),
        blocks: true,
        store: withDenyCache(store, { stopwatch: () => nowMs, for: '1s' }),
      }),
    )
    const [one, other] = processes as [(typeof processes)[0], (typeof processes)[0]]
    expect((await other.consume('a')).allowed).toBe(true)
    await one.block('a', '1h')
    expect((await other.consume('a')).retryAfterMs).toBe(HOUR)
    const calls = sent.length
    nowMs = 999
    expect((await other.consume('a')).retryAfterMs).toBe(HOUR - 999)
    expect(sent).toHaveLength(calls)
    await one.unblock('a')
    expect([(await other.consume('a')).allowed, (await one.consume('a')).allowed]).toEqual([false, true])
    nowMs = 1_001
    expect((await other.consume('a')).allowed).toBe(true)
  })

  test('with a deny cache: denies a limited key that is not blocked without a call', async () => {
    let nowMs = 0
    const { store, sent } = remote(modelStore(() => START + nowMs * 1_000))
    const cached = withDenyCache(store, { stopwatch: () => nowMs })
    const limiter = rateLimiter({ quota: perMinute(1), blocks: true, store: cached })
    await limiter.consume('a')
    const denied = await limiter.consume('a')
    nowMs = 500
    const calls = sent.length
    expect((await limiter.consume('a')).retryAfterMs).toBe(denied.retryAfterMs - 500)
    expect(sent).toHaveLength(calls)
    await limiter.block('a', '1h')
    expect((await limiter.consume('a')).retryAfterMs).toBe(HOUR)
  })

  test('with leases: holds at once, since a limiter that can block leases nothing', async () => {
    const store = modelStore(() => START)
    const quota = perMinute(6_000)
    const leasing = withLeases(remote(store).store, { requests: 100, stopwatch: () => 0 })
    const [limiter, other] = [leasing, store].map((each) => rateLimiter({ quota, blocks: true, store: each }))
    for (let i = 0; i < 20; i++) await limiter?.consume('a')
    expect((await other?.peek('a'))?.remaining).toBe(5_980)
    await other?.block('a', '1h')
    expect((await limiter?.consume('a'))?.allowed).toBe(false)
    await leasing.release()
  })

  test('with hashed keys: blocks them, and lists their digests with their blocks', async () => {
    const store = withHashedKeys(
      modelStore(() => START),
      (key) => `hash of ${key.length}`,
    )
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store })
    await limiter.consume('alice')
    await limiter.block('alice', '1h')
    expect((await limiter.consume('alice')).allowed).toBe(false)
    expect((await limiter.list()).keys).toMatchObject([{ isDigest: true, blockedMs: undefined }])
    expect((await limiter.list({ blocked: true })).keys).toMatchObject([{ isDigest: true, blockedMs: HOUR }])
  })

  test('that fails: holds in this process, and no other policy of its denies because of it', async () => {
    const down = () => Promise.reject(new StoreError('error', 'down'))
    const failing: Store = { take: down, delete: down }
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store: failing })
    await expect(limiter.block('a', '1h')).rejects.toThrow(StoreError)
    expect(await limiter.consume('a')).toMatchObject({
      allowed: false,
      policy: 'default (blocked)',
      degraded: { action: 'local' },
    })
    expect(await limiter.consume('b')).toMatchObject({ allowed: true, policy: 'default', remaining: 4 })
    const closed = rateLimiter({ name: 'c', quota: perMinute(5), blocks: true, store: failing, onStoreError: 'deny' })
    expect(await closed.consume('a')).toMatchObject({ allowed: false, violated: ['c'], limit: 5 })
    const open = rateLimiter({ name: 'o', quota: perMinute(5), blocks: true, store: failing, onStoreError: 'allow' })
    expect(await open.consume('a')).toMatchObject({ allowed: true, policy: 'o', limit: 5 })
    const fallback = rateLimiter({ quota: perMinute(2), store: modelStore(() => START) })
    const asking = rateLimiter({ name: 'f', quota: perMinute(5), blocks: true, store: failing, onStoreError: fallback })
    expect(await asking.consume('a')).toMatchObject({ allowed: true, policy: 'f', remaining: 1 })
  })

  test('shared by several processes that each have a part of the quota: the local block is whole', async () => {
    const down = () => Promise.reject(new StoreError('error', 'down'))
    const limiter = rateLimiter({
      quota: perMinute(50),
      blocks: true,
      replicas: 5,
      store: { take: down, delete: down },
    })
    await expect(limiter.block('a', '1h')).rejects.toThrow(StoreError)
    expect((await limiter.consume('a')).allowed).toBe(false)
    expect((await limiter.consume('b')).remaining).toBe(9)
  })
})
