import { faultyStore, modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions, type RateLimitOptions, type Verdict } from '../src/http/index.ts'
import {
  perMinute,
  perSecond,
  rateLimiter,
  type Store,
  type StoreErrorOption,
  withDenyCache,
  withLeases,
} from '../src/index.ts'
import { spill } from './spilling.ts'

describe('over several stores, with a spill policy', () => {
  const setUp = (options: Partial<RateLimitOptions<object>> = {}, onStoreError: StoreErrorOption = 'local') => {
    const stores = [0, 1].map(() => faultyStore(modelStore(() => START)))
    const policies: PolicyOptions<object>[] = [
      { name: 'second', quota: perSecond(1), spill: 'extra', store: stores[0] as Store, onStoreError },
      { name: 'extra', quota: perMinute(2), store: stores[1] as Store, onStoreError },
    ]
    const guard = httpGuard(
      { policies, store: stores[0], deadline: '10s', logger: { warn() {} }, ...options } as RateLimitOptions<object>,
      plainReader,
    )
    const send = async (): Promise<Verdict> => guard({})
    return { stores, send }
  }

  test('the second store is asked only if the first denies', async () => {
    const { stores, send } = setUp()
    const calls: unknown[] = []
    for (let i = 0; i < 4; i++) {
      const { decision, denial } = await send()
      calls.push([decision?.policy, denial?.status, stores.map((store) => store.calls)])
    }
    expect(calls).toEqual([
      ['second', undefined, [1, 0]],
      ['extra', undefined, [2, 1]],
      ['extra', undefined, [3, 2]],
      ['second', 429, [4, 3]],
    ])
  })

  test('if the first store fails, its failure mode decides, and what it denies so is not spilled', async () => {
    const local = setUp()
    local.stores[0]?.break('failing')
    expect((await local.send()).decision).toMatchObject({ policy: 'second', degraded: { action: 'local' } })
    expect((await local.send()).decision).toMatchObject({ allowed: true, policy: 'extra', spilled: ['second'] })
    const deny = setUp({}, 'deny')
    deny.stores[0]?.break('failing')
    expect((await deny.send()).denial?.status).toBe(503)
    expect(deny.stores[1]?.calls).toBe(0)
  })

  test('if the second store fails, its failure mode decides', async () => {
    for (const [mode, status] of [
      ['local', undefined],
      ['allow', undefined],
      ['deny', 503],
    ] as const) {
      const { stores, send } = setUp({}, mode)
      await send()
      stores[1]?.break('failing')
      expect((await send()).denial?.status, mode).toBe(status)
    }
  })

  test('leases and a deny cache answer as their stores would', async () => {
    for (const before of [
      (store: Store) => withDenyCache(store, { stopwatch: () => 0 }),
      (store: Store) => withLeases(store, { requests: 10, stopwatch: () => 0 }),
    ]) {
      const store = before(faultyStore(modelStore(() => START)))
      const limiter = rateLimiter({
        quotas: { second: perSecond(100), extra: perMinute(60) },
        spill,
        store,
        deadline: '10s',
      })
      const policies: string[] = []
      for (let i = 0; i < 170; i++) {
        const { allowed, policy } = await limiter.consume('a')
        policies.push(allowed ? policy : 'none')
      }
      const countOf = (name: string) => policies.filter((each) => each === name).length
      expect(['second', 'extra', 'none'].map(countOf)).toEqual([100, 60, 10])
    }
  })
})
