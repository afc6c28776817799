import { fakeClock, faultyStore, modelStore, START } from '@spillway/conformance'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions, type RateLimitOptions, type Verdict } from '../src/http/index.ts'
import {
  type Decision,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  rateLimiter,
  type Store,
  type StoreErrorOption,
  withDenyCache,
  withLeases,
} from '../src/index.ts'
import { checkSpill } from '../src/policies/spill-targets.ts'
import { policiesFrom } from '../src/rules/index.ts'

afterEach(() => void vi.useRealTimers())

const quotas = { second: perSecond(2), extra: perMinute(3) }
const spill = { second: 'extra' }

const setUp = (store?: Store) => {
  const clock = fakeClock()
  return { clock, limiter: rateLimiter({ quotas, spill, store: store ?? modelStore(clock) }) }
}

describe('a limiter with a spill policy', () => {
  test('draws upon it only if the other is empty, and says which one paid', async () => {
    const { clock, limiter } = setUp()
    const first = await limiter.consume('a', 2)
    expect(first).toMatchObject({ allowed: true, policy: 'second', remaining: 0 })
    expect(first).not.toHaveProperty('spilled')
    expect(await limiter.consume('a')).toMatchObject({
      allowed: true,
      policy: 'extra',
      remaining: 2,
      spilled: ['second'],
      violated: [],
    })
    clock.advance(1_000)
    expect(await limiter.consume('a', 2)).toMatchObject({ policy: 'second', remaining: 0 })
    expect(await limiter.consume('a', 2)).toMatchObject({ policy: 'extra', remaining: 0 })
  })

  test('denies if both are empty, with the sooner of the two waits', async () => {
    const { clock, limiter } = setUp()
    for (const cost of [2, 3]) await limiter.consume('a', cost)
    const denied = await limiter.consume('a')
    expect(denied).toMatchObject({ allowed: false, policy: 'second', retryAfterMs: 500, violated: ['second', 'extra'] })
    expect(denied.policies?.map(({ policy, retryAfterMs }) => [policy, retryAfterMs])).toEqual([
      ['second', 500],
      ['extra', 20_000],
    ])
    expect(await limiter.peek('a')).toEqual(denied)
    clock.advanceMicros(499_999)
    expect((await limiter.consume('a')).allowed).toBe(false)
    clock.advanceMicros(1)
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, policy: 'second' })
  })

  test('waits for the spill policy where the other never holds as much, and for neither where both never do', async () => {
    const { clock, limiter } = setUp()
    expect(await limiter.consume('a', 3)).toMatchObject({ allowed: true, policy: 'extra' })
    expect(await limiter.consume('a', 3)).toMatchObject({ allowed: false, policy: 'extra', retryAfterMs: 60_000 })
    clock.advance(60_000)
    expect((await limiter.consume('a', 3)).allowed).toBe(true)
    expect(await limiter.consume('a', 4)).toMatchObject({ allowed: false, retryAfterMs: Infinity })
  })

  test('consumes nothing of it where another policy denies', async () => {
    const limiter = rateLimiter({
      quotas: { second: perSecond(2), day: perDay(3), extra: perMinute(10) },
      spill,
      store: modelStore(() => START),
    })
    const decisions: Decision[] = []
    for (let i = 0; i < 5; i++) decisions.push(await limiter.consume('a'))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false])
    expect(decisions[2]).toMatchObject({ spilled: ['second'] })
    expect(decisions[2]?.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['extra', 9],
      ['day', 0],
    ])
    // Of the two, extra has room at once: only the day is waited for.
    expect(decisions[4]).toMatchObject({ policy: 'day', violated: ['second', 'day'], retryAfterMs: 28_800_000 })
  })

  test('spills over a chain of policies, in its order', async () => {
    const chain = { a: perSecond(1), b: perMinute(1), c: perHour(1) }
    const limiter = rateLimiter({ quotas: chain, spill: { a: 'b', b: 'c' }, store: modelStore(() => START) })
    const paid: unknown[] = []
    for (let i = 0; i < 4; i++) {
      const { policy, spilled, allowed } = await limiter.consume('k')
      paid.push([allowed, policy, spilled])
    }
    expect(paid).toEqual([
      [true, 'a', undefined],
      [true, 'b', ['a']],
      [true, 'c', ['a', 'b']],
      [false, 'a', ['a', 'b']],
    ])
  })

  test('returns units to the policy that paid', async () => {
    const { limiter } = setUp()
    await limiter.consume('a', 2)
    const reservation = await limiter.reserve('a', { cost: 3, maxWait: 0 })
    expect(reservation).toMatchObject({ allowed: true, policy: 'extra' })
    await reservation.commit(1)
    expect(await limiter.consume('a', 2)).toMatchObject({ allowed: true, policy: 'extra', remaining: 0 })
    await limiter.refund('a', 2) // without a reservation: to the first policies
    expect(await limiter.consume('a', 2)).toMatchObject({ allowed: true, policy: 'second' })
  })

  test('is reset with it, and consumeUpTo leaves it alone', async () => {
    const { limiter } = setUp()
    expect(await limiter.consumeUpTo('a', 9)).toMatchObject({ consumed: 2 })
    expect(await limiter.consumeUpTo('a', 9)).toMatchObject({ consumed: 0 })
    await limiter.consume('a', 3)
    expect(await limiter.resetAll('extra')).toBe(1)
    expect(await limiter.consume('a', 3)).toMatchObject({ allowed: true, policy: 'extra' })
    expect(await limiter.reset('a')).toBe(true)
    expect(await limiter.consume('a', 2)).toMatchObject({ policy: 'second' })
  })

  test('answers in the same tick if the store does', () => {
    const limiter = rateLimiter({ quotas, spill, store: modelStore(() => START) })
    expect(limiter.consumeSync('a', 2).policy).toBe('second')
    expect(limiter.consumeSync('a', 2).policy).toBe('extra')
  })

  // A limiter for each quota, on a store of its own, predicts which quota pays.
  test('allows exactly what one of both has room for, whatever the history', () => {
    const calls = fc.array(fc.tuple(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 1, max: 4 })), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(calls, (history) => {
        const clock = fakeClock()
        const limiter = rateLimiter({ quotas, spill, store: modelStore(clock) })
        const apart = Object.entries(quotas).map(([name, quota]) =>
          rateLimiter({ name, quota, store: modelStore(clock) }),
        )
        for (const [afterMs, cost] of history) {
          clock.advance(afterMs)
          const paid = apart.find((each) => each.consumeSync('a', cost).allowed)
          const { allowed, policy } = limiter.consumeSync('a', cost)
          expect(allowed).toBe(paid !== undefined)
          if (paid) expect(policy).toBe(paid === apart[0] ? 'second' : 'extra')
        }
      }),
    )
  })
})

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

describe('over HTTP', () => {
  const policies: PolicyOptions<object>[] = [
    { name: 'second', quota: perSecond(1), spill: 'extra' },
    { name: 'day', quota: perDay(100) },
    { name: 'extra', quota: perMinute(6) },
  ]
  const setUp = (options: object = {}) => {
    const store = modelStore(() => START)
    const guard = httpGuard({ policies, store, ...options } as RateLimitOptions<object>, plainReader)
    return async (): Promise<Verdict> => guard({})
  }
  const limitOf = ({ headers }: Verdict): unknown => headers.find(([name]) => name === 'RateLimit')?.[1]

  test('headers list the policies that paid, and of a denial all that deny', async () => {
    const send = setUp()
    expect(limitOf(await send())).toBe('"second";r=0;t=1, "day";r=99;t=864')
    const second = await send()
    expect(limitOf(second)).toBe('"extra";r=5;t=10, "day";r=98;t=864')
    expect(second.headers[0]).toEqual(['RateLimit-Policy', '"extra";q=6;w=60, "day";q=100;w=86400'])
    for (let i = 0; i < 5; i++) await send()
    const { denial, ...denied } = await send()
    expect(limitOf(denied as Verdict)).toBe('"second";r=0;t=1, "extra";r=0;t=10, "day";r=93;t=864')
    expect(denied.headers.at(-1)).toEqual(['Retry-After', '1'])
    expect(JSON.parse(denial?.body ?? '')).toMatchObject({ 'violated-policies': ['second', 'extra'] })
  })

  test('a request is settled by the name of either', async () => {
    const send = setUp()
    await send()
    for (const name of ['second', 'extra']) {
      const { decision } = await send()
      await decision?.settle(0, name)
    }
    expect(limitOf(await send())).toContain('"extra";r=5;')
  })

  test('what a response refunds goes back to the policy that paid', async () => {
    const send = setUp({ refundIf: (status: number) => status >= 500 })
    await send()
    await (await send()).after?.(500, undefined)
    expect(limitOf(await send())).toContain('"extra";r=5;')
  })

  test('a spill policy that does not apply is not drawn upon, nor one whose policy does not apply', async () => {
    const [second, day, extra] = policies as [PolicyOptions<object>, PolicyOptions<object>, PolicyOptions<object>]
    const sendWithout = setUp({ policies: [second, day, { ...extra, match: () => false }] })
    expect([(await sendWithout()).denial, (await sendWithout()).denial?.status]).toEqual([undefined, 429])
    const sendOther = setUp({ policies: [{ ...second, match: () => false }, day, extra] })
    expect(limitOf(await sendOther())).toBe('"day";r=99;t=864')
  })

  test('a queue as the spill policy holds requests back', async () => {
    const queue = { name: 'extra', quota: leakyBucket({ limit: 1, per: '1s', queue: 3 }) }
    vi.useFakeTimers()
    const send = setUp({ policies: [policies[0], queue] })
    await send()
    await send()
    let held = true
    const third = send().then(() => {
      held = false
    })
    await vi.advanceTimersByTimeAsync(999)
    expect(held).toBe(true)
    await vi.advanceTimersByTimeAsync(1)
    await third
    expect(held).toBe(false)
  })
})

describe('a spill that cannot be', () => {
  const policy = (name: string, options: object = {}) => ({ name, quota: perMinute(1), ...options })
  test.each<[string, object[], string]>([
    ['a misspelt name', [policy('a', { spill: 'extar' }), policy('extra')], 'Did you mean "extra"?'],
    ['no name', [policy('a', { spill: 5 }), policy('b')], 'there is none named 5. There are "a", "b".'],
    ['itself', [policy('a', { spill: 'a' })], 'policy "a" spills over to itself, by "a" → "a".'],
    [
      'a circle',
      [policy('a', { spill: 'b' }), policy('b', { spill: 'c' }), policy('c', { spill: 'a' })],
      'policy "a" spills over to itself, by "a" → "b" → "c" → "a".',
    ],
    [
      'one for two',
      [policy('a', { spill: 'c' }), policy('b', { spill: 'c' }), policy('c')],
      'two policies spill over to "c"',
    ],
    [
      'a shadow',
      [policy('a', { spill: 'b' }), policy('b', { mode: 'shadow' })],
      'there is none named "b". There are "a". Write spill:',
    ],
    ['that of a shadow', [policy('a', { spill: 'b', mode: 'shadow' }), policy('b')], 'there is none named "a"'],
  ])('is rejected when the limiter is built: %s', (_, policies, message) => {
    expect(() => httpGuard({ policies, store: modelStore(() => START) } as never, plainReader)).toThrow(message)
  })

  test('is rejected for quotas, too', () => {
    const store = modelStore(() => START)
    expect(() => rateLimiter({ quotas, spill: { second: 'extar' }, store })).toThrow('Did you mean "extra"?')
    expect(() => rateLimiter({ quotas, spill: { secnd: 'extra' }, store })).toThrow('Did you mean "second"?')
    expect(() => rateLimiter({ quotas, spill: null as never, store })).toThrow(
      'rateLimiter spill is null. Give it a value, or leave it out.',
    )
    expect(() => rateLimiter({ quotas, spill: { toString: 'extra' }, store })).toThrow('spill has no option "toString"')
  })
})

describe('a rule with spill', () => {
  const rule = (name: string, options: object = {}) => ({
    name,
    limit_keys: ['ip:address'],
    algorithm: 'token_bucket',
    algorithm_config: { tokens_per_second: 1, burst: 1 },
    ...options,
  })

  test('is a policy with spill', () => {
    expect(policiesFrom([rule('a', { spill: 'b' }), rule('b')])).toMatchObject([
      { name: 'a', spill: 'b' },
      { name: 'b' },
    ])
  })

  test.each<[object[], string]>([
    [
      [rule('a', { spill: 'extar' }), rule('extra')],
      'rules: spill names an enforced policy; there is none named "extar"',
    ],
    [[rule('a', { spill: 'b' }), rule('b', { spill: 'a' })], 'policy "a" spills over to itself'],
    [[rule('a', { spill: 5 })], 'rules[0].spill must be'],
  ])('is rejected: %j', (rules, message) => {
    expect(() => policiesFrom(rules)).toThrow(message)
  })
})

test('a chain is checked in as many steps as it has policies', () => {
  /** How often the check reads a chain of so many policies. */
  const readsOf = (length: number): number => {
    let reads = 0
    const counting = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (from, name) => {
          reads++
          return Reflect.get(from, name)
        },
      })
    const names = Array.from({ length }, (_, i) => `rule ${i}`)
    const chain = Object.fromEntries(names.slice(1).map((name, i) => [names[i], name]))
    checkSpill(counting(chain), counting(names))
    return reads
  }
  expect(readsOf(500)).toBeLessThan(5 * 500)
  expect(readsOf(2_000) / readsOf(500)).toBeLessThan(4.5)
})
