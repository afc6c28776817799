import { fakeClock, faultyStore, modelStore, START } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { degradedQuota } from '../src/algorithms/degraded-quota.ts'
import { httpGuard, type Match } from '../src/http/index.ts'
import { perMinute, perSecond, rateLimiter, type Store, slidingLog } from '../src/index.ts'
import { type FakeRequest, reader, setUp } from './fake-request.ts'

afterEach(() => {
  vi.useRealTimers()
})

// Lines that could be broken without a failing test: they change no decision, only what is called for it.

describe('a wait calls its store', () => {
  test.each([
    ['a bucket: once for each caller', { second: perSecond(1) }, 2],
    ['a window: again when its units are due', { log: slidingLog({ limit: 1, window: '1s' }) }, 3],
    ['a bucket and a window', { second: perSecond(1), log: slidingLog({ limit: 1, window: '1s' }) }, 3],
  ])('%s', async (_, quotas, expected) => {
    vi.useFakeTimers({ now: 0 })
    const model = modelStore(() => START + Date.now() * 1_000)
    let calls = 0
    const store = {
      ...model,
      takeSync: (...args: Parameters<typeof model.takeSync>) => {
        calls++
        return model.takeSync(...args)
      },
    }
    const limiter = rateLimiter({ quotas, store })
    await limiter.wait('api')
    const second = limiter.wait('api')
    await vi.runAllTimersAsync()
    await second
    expect(calls).toBe(expected)
  })
})

// Reproduces a bug: a function in a list with a path was asked twice.
test.each<[string, readonly Match[]]>([
  ['alone', []],
  ['beside a path', [{ path: '/users/:id' }]],
  ['beside a method', [{ method: 'POST' }]],
])('a tier asks its match function once, %s, in a framework with empty parameters', async (_, others) => {
  let calls = 0
  const asked = (): boolean => {
    calls++
    return false
  }
  const match = [asked, ...others]
  const guard = httpGuard<FakeRequest>(
    { store: modelStore(() => START), policies: [{ name: 'a', quota: perMinute(1), tiers: 'plan', match }] },
    { ...reader, hasEmptyParameters: () => true },
  )
  await guard({})
  expect(calls).toBe(1)
})

test('of two in-memory stores, the first is rolled back in the same tick', () => {
  const [one, two] = [modelStore(() => START), modelStore(() => START)]
  const { evaluate } = setUp({
    policies: [
      { name: 'a', quota: perMinute(5), store: one },
      { name: 'b', quota: perMinute(1), store: two },
    ],
  })
  expect([evaluate().denial, evaluate().denial?.status]).toEqual([undefined, 429])
  expect(evaluate().decision?.policies?.map(({ remaining }) => remaining)).toEqual([4, 0])
})

test('consumeUpTo over slots of which one is on the local store returns its surplus', async () => {
  const model = modelStore(() => START)
  const down = ({ policy }: { readonly policy: string } = { policy: '' }): void => {
    if (policy === 'a') throw new Error('down')
  }
  const store: Store = {
    slotOf: ({ policy }) => policy,
    take: async (ops, at) => {
      down(ops[0])
      return model.takeSync(ops, at)
    },
    takeEach: async (batches, at) => {
      down(batches[0]?.[0])
      return batches.map((ops) => model.takeSync(ops, at))
    },
    delete: model.delete,
  }
  const quotas = { a: perMinute(10), b: perMinute(10) }
  const limiter = rateLimiter({ quotas, store, onStoreError: 'local', logger: { warn: () => {} } })
  await limiter.consume('api', { a: 0, b: 7 })
  expect(await limiter.consumeUpTo('api', 8)).toMatchObject({ consumed: 3, degraded: { action: 'local' } })
  expect(await limiter.peek('api', { a: 1, b: 0 })).toMatchObject({ policy: 'a', remaining: 7 })
})

test('a store that is down denies with its reason, though a lookup has failed, too', async () => {
  const clock = fakeClock()
  const store = faultyStore(modelStore(clock))
  store.break('failing')
  const guard = httpGuard<FakeRequest>(
    {
      store,
      onStoreError: 'deny',
      logger: { warn: () => {} },
      quota: () => degradedQuota(perMinute(9), 'default'),
    },
    reader,
  )
  const { denial, decision } = await guard({})
  expect([denial?.status, decision?.degraded]).toEqual([503, { reason: 'error', action: 'deny' }])
})
