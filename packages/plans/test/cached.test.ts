import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { perMinute, type Quota } from '@spillway/core'
import { degradedQuota } from '@spillway/core/internal'
import { rateLimit } from '@spillway/express'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type CachedOptions, cached } from '../src/index.ts'

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

type Plan = 'free' | 'pro'

/** A database of plans that answers after `latencyMs`, or fails. */
function database(plans: Readonly<Record<string, Plan>>) {
  const state = { plans: { ...plans }, latencyMs: 10, down: false, lookups: [] as string[] }
  const planOf = (key: string): Promise<Plan | undefined> => {
    state.lookups.push(key)
    const plan = Object.hasOwn(state.plans, key) ? state.plans[key] : undefined
    const { down, latencyMs } = state
    if (latencyMs === 0) return Promise.resolve(plan)
    return new Promise((resolve, reject) => {
      setTimeout(() => (down ? reject(new Error('connection lost')) : resolve(plan)), latencyMs)
    })
  }
  return Object.assign(state, { planOf })
}

const fail = (): never => {
  throw new Error('connection lost')
}

const quiet = { logger: { warn: () => {} } }

function setUp<D extends Plan | undefined = undefined>(
  options: CachedOptions<Plan, D> = {},
  plans: Readonly<Record<string, Plan>> = { ann: 'free', bob: 'pro' },
) {
  const db = database(plans)
  return { db, plan: cached<Plan, D>(db.planOf, { ...quiet, ...options }) }
}

/** Settles a result, and lets time pass meanwhile. */
async function after<T>(millis: number, result: T | Promise<T>): Promise<T> {
  const settled = Promise.resolve(result).then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error
    },
  )
  await vi.advanceTimersByTimeAsync(millis)
  return (await settled)()
}

describe('a key that is known', () => {
  test('has its value in the same tick, without a promise', async () => {
    const { db, plan } = setUp()
    expect(plan('bob')).toBeInstanceOf(Promise)
    await vi.advanceTimersByTimeAsync(10)
    expect(plan('bob')).toBe('pro')
    expect(db.lookups).toEqual(['bob'])
  })

  test('is looked up once for a thousand requests at a time', async () => {
    const { db, plan } = setUp()
    const plans = Array.from({ length: 1_000 }, () => plan('bob'))
    expect(new Set(await after(10, Promise.all(plans)))).toEqual(new Set(['pro']))
    expect(db.lookups).toEqual(['bob'])
  })

  test('does not wait for the lookup of another key', async () => {
    const { db, plan } = setUp()
    await after(10, plan('bob'))
    db.latencyMs = 900
    const slow = plan('ann')
    expect(plan('bob')).toBe('pro')
    expect(await after(900, slow)).toBe('free')
  })

  test('keeps its value while it is looked up again', async () => {
    const { db, plan } = setUp({ ttl: '1m' })
    await after(10, plan('ann'))
    db.plans.ann = 'pro'
    vi.advanceTimersByTime(60_000)
    expect([plan('ann'), plan('ann'), plan('ann')]).toEqual(['free', 'free', 'free'])
    await vi.advanceTimersByTimeAsync(10)
    expect(plan('ann')).toBe('pro')
    expect(db.lookups).toEqual(['ann', 'ann'])
  })

  test('is waited for once its value is older than staleFor', async () => {
    const { db, plan } = setUp({ ttl: '1m', staleFor: '10m' })
    await after(10, plan('ann'))
    db.plans.ann = 'pro'
    vi.advanceTimersByTime(11 * 60_000)
    expect(await after(10, plan('ann'))).toBe('pro')
  })

  test('may have no stale value at all', async () => {
    const { plan } = setUp({ ttl: '1m', staleFor: 0 })
    await after(10, plan('ann'))
    vi.advanceTimersByTime(60_000)
    expect(plan('ann')).toBeInstanceOf(Promise)
    await vi.advanceTimersByTimeAsync(10)
  })
})

describe('a lookup that fails', () => {
  test('leaves the last known value, and is tried again after a second', async () => {
    const { db, plan } = setUp({ ttl: '1m', staleFor: '10m' })
    await after(10, plan('bob'))
    db.down = true
    vi.advanceTimersByTime(60_000)
    for (let second = 0; second < 5; second++) {
      for (let i = 0; i < 100; i++) expect(await after(1, plan('bob'))).toBe('pro')
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(db.lookups).toHaveLength(6)
    db.down = false
    expect(plan('bob')).toBe('pro')
    await vi.advanceTimersByTimeAsync(10)
    const { length } = db.lookups
    expect([plan('bob'), db.lookups.length]).toEqual(['pro', length])
  })

  test('gives the default if no value is known', async () => {
    const { db, plan } = setUp({ default: 'free' })
    db.down = true
    expect(await after(10, plan('bob'))).toBe('free')
    // No request waits for a database that has just failed.
    expect(plan('bob')).toBe('free')
    db.down = false
    vi.advanceTimersByTime(1_001)
    expect(await after(10, plan('bob'))).toBe('pro')
  })

  test('rejects with its own error if there is neither', async () => {
    const { db, plan } = setUp()
    db.down = true
    await expect(after(10, plan('bob'))).rejects.toThrow('connection lost')
    expect(() => plan('bob')).toThrow('connection lost')
  })

  test("rejects with onError: 'throw', whatever is known", async () => {
    const { db, plan } = setUp({ ttl: '1m', default: 'free', onError: 'throw' })
    await after(10, plan('bob'))
    db.down = true
    vi.advanceTimersByTime(60_000)
    expect(plan('bob')).toBe('pro')
    await vi.advanceTimersByTimeAsync(10)
    expect(() => plan('bob')).toThrow('connection lost')
  })

  test.each<[string, () => never]>([
    [
      'throws at once',
      () => {
        throw new TypeError('no connection')
      },
    ],
    [
      'throws text',
      () => {
        throw 'no connection' as unknown as Error
      },
    ],
  ])('or %s is one that fails', async (_, lookup) => {
    const warnings: string[] = []
    const plan = cached<Plan, Plan>(lookup, { default: 'free', logger: { warn: (text) => warnings.push(text) } })
    expect(await plan('bob')).toBe('free')
    expect(warnings).toEqual([
      expect.stringMatching(/a cached lookup failed: .*no connection.*#warn_spillway_lookup\]$/),
    ])
  })

  test('is logged once', async () => {
    const warnings: string[] = []
    const { db, plan } = setUp({ default: 'free', logger: { warn: (text) => warnings.push(text) } })
    db.down = true
    for (const key of ['a', 'b', 'c']) await after(10, plan(key))
    expect(warnings).toHaveLength(1)
  })
})

describe('a lookup that is slow', () => {
  test('gives the default after the timeout, and its late result is kept', async () => {
    const { db, plan } = setUp({ default: 'free', timeout: '200ms' })
    db.latencyMs = 5_000
    expect(await after(200, plan('bob'))).toBe('free')
    expect(plan('bob')).toBe('free')
    await vi.advanceTimersByTimeAsync(4_800)
    expect(plan('bob')).toBe('pro')
    expect(db.lookups).toEqual(['bob'])
  })

  test('is reported after the timeout, also while the last known value is used', async () => {
    const warnings: string[] = []
    const { db, plan } = setUp({ ttl: '1m', timeout: '200ms', logger: { warn: (text) => warnings.push(text) } })
    const quotas = { free: perMinute(60), pro: perMinute(600) }
    await after(10, plan('bob'))
    await vi.advanceTimersByTimeAsync(60_000)
    db.latencyMs = 5_000
    expect([plan.quota('bob', quotas), warnings]).toEqual([quotas.pro, []])
    await vi.advanceTimersByTimeAsync(200)
    for (let second = 0; second < 4; second++) {
      expect(plan.quota('bob', quotas)).toBe(degradedQuota(quotas.pro, 'stale'))
      await vi.advanceTimersByTimeAsync(1_001)
    }
    expect(warnings).toEqual([expect.stringContaining('a cached lookup failed: The lookup took longer than 200 ms')])
    await vi.advanceTimersByTimeAsync(1_000)
    expect([plan.quota('bob', quotas), db.lookups]).toEqual([quotas.pro, ['bob', 'bob']])
  })

  test("rejects after the timeout with onError: 'throw', whatever is known", async () => {
    const { db, plan } = setUp({ ttl: '1m', timeout: '200ms', onError: 'throw' })
    await after(10, plan('bob'))
    await vi.advanceTimersByTimeAsync(60_000)
    db.latencyMs = 5_000
    expect(plan('bob')).toBe('pro')
    await vi.advanceTimersByTimeAsync(200)
    expect(() => plan('bob')).toThrow('The lookup took longer than 200 ms')
    await vi.advanceTimersByTimeAsync(4_800)
  })

  test('rejects after the timeout if there is no default', async () => {
    const { db, plan } = setUp({ timeout: '200ms' })
    db.latencyMs = 5_000
    await expect(after(200, plan('bob'))).rejects.toMatchObject({ reason: 'timeout' })
    await vi.advanceTimersByTimeAsync(4_800)
  })

  test('does not run more than ten thousand times at once', async () => {
    const pending: (() => void)[] = []
    const lookup = (): Promise<Plan> => new Promise((resolve) => pending.push(() => resolve('pro')))
    const plan = cached<Plan, Plan>(lookup, { ...quiet, default: 'free', timeout: '1s' })
    const plans = Array.from({ length: 10_500 }, (_, i) => plan(`key ${i}`))
    expect(pending).toHaveLength(10_000)
    expect(await plans[10_400]).toBe('free')
    for (const answer of pending) answer()
    expect(await plans[9_999]).toBe('pro')
  })

  test('leaves the last known value, if ten thousand others are running', async () => {
    const answers = new Map<string, () => void>()
    const lookup = (key: string): Promise<Plan> => new Promise((resolve) => answers.set(key, () => resolve('pro')))
    const plan = cached<Plan, Plan>(lookup, { ...quiet, ttl: '1s', default: 'free' })
    const first = plan('bob')
    answers.get('bob')?.()
    await first
    await vi.advanceTimersByTimeAsync(1_000)
    const plans = Array.from({ length: 10_000 }, (_, i) => plan(`key ${i}`))
    // A rejection that is not handled would end the process, and fails the run of the tests.
    const quotas = { free: perMinute(60), pro: perMinute(600) }
    expect(plan.quota('bob', quotas)).toBe(degradedQuota(quotas.pro, 'stale'))
    for (const answer of answers.values()) answer()
    await Promise.all(plans)
  })

  test('is in time if its answer arrived while the event loop stood still', async () => {
    vi.useRealTimers()
    const plan = cached<Plan, Plan>(() => new Promise((resolve) => setTimeout(() => resolve('pro'), 10)), {
      ...quiet,
      default: 'free',
      timeout: 20,
    })
    const answer = plan('bob')
    // Real time: what is tested is the order of timers after a stall, which fake timers do not have.
    const until = performance.now() + 60
    while (performance.now() < until);
    expect(await answer).toBe('pro')
    vi.useFakeTimers()
  })
})

describe('a key that is unknown', () => {
  test('is undefined, or the default, and looked up once', async () => {
    const { db, plan } = setUp()
    expect(await after(10, plan('unknown'))).toBe(undefined)
    expect(plan('unknown')).toBe(undefined)
    const other = setUp({ default: 'free' })
    expect(await after(10, other.plan('mallory'))).toBe('free')
    expect(other.plan('mallory')).toBe('free')
    expect([db.lookups, other.db.lookups]).toEqual([['unknown'], ['mallory']])
  })

  test('may become known after ttl', async () => {
    const { db, plan } = setUp({ ttl: '1m', default: 'free' })
    await after(10, plan('carl'))
    db.plans.carl = 'pro'
    vi.advanceTimersByTime(60_001)
    expect(await after(10, plan('carl'))).toBe('pro')
  })

  test.each([undefined, ''])('%j is not looked up', (key) => {
    const { db, plan } = setUp({ default: 'free' })
    expect([plan(key), db.lookups]).toEqual(['free', []])
  })

  test('evicts no known key, however many clients make up', async () => {
    const known = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key ${i}`, 'pro' as const]))
    const { db, plan } = setUp({ max: 100, maxUnknown: 100, default: 'free' }, known)
    await after(10, Promise.all(Object.keys(known).map((key) => plan(key))))
    db.latencyMs = 0
    await after(0, Promise.all(Array.from({ length: 5_000 }, (_, i) => plan(`made up ${i}`))))
    const before = db.lookups.length
    expect(Object.keys(known).map((key) => plan(key))).toEqual(Object.values(known))
    expect(db.lookups.length).toBe(before)
  })

  test('takes little memory, however long it is', async () => {
    const plan = cached(async () => undefined)
    const heapBytes = (): number => {
      setFlagsFromString('--expose-gc')
      runInNewContext('gc')()
      return process.memoryUsage().heapUsed
    }
    const before = heapBytes()
    for (let n = 0; n < 2_000; n++) await plan(Buffer.alloc(15_000, `${n} `).toString('latin1'))
    expect(heapBytes() - before).toBeLessThan(2_000 * 2_000)
    // The cache is still in use.
    expect(plan('bob')).toBeInstanceOf(Promise)
    await vi.advanceTimersByTimeAsync(0)
  })
})

describe('a key that is deleted', () => {
  test('is looked up again', async () => {
    const { db, plan } = setUp()
    await after(10, plan('ann'))
    db.plans.ann = 'pro'
    expect([plan.delete('ann'), plan.delete('ann')]).toEqual([true, false])
    expect(await after(10, plan('ann'))).toBe('pro')
  })

  test('does not keep the result of a lookup that was running', async () => {
    const { db, plan } = setUp()
    db.latencyMs = 100
    const old = plan('ann')
    db.plans.ann = 'pro'
    db.latencyMs = 10
    plan.delete('ann')
    const recent = plan('ann')
    expect(await after(100, Promise.all([old, recent]))).toEqual(['free', 'pro'])
    expect(plan('ann')).toBe('pro')
    expect(db.lookups).toEqual(['ann', 'ann'])
  })

  test('is like all keys after clear', async () => {
    const { db, plan } = setUp({ default: 'free' })
    await after(10, Promise.all([plan('ann'), plan('mallory')]))
    plan.clear()
    await after(10, Promise.all([plan('ann'), plan('mallory')]))
    expect(db.lookups).toEqual(['ann', 'mallory', 'ann', 'mallory'])
  })
})

describe('a quota', () => {
  const QUOTAS = { free: perMinute(10), pro: perMinute(100) }

  test('is that of the value, by name or by a function', async () => {
    const { plan } = setUp({ default: 'free' })
    expect(await after(10, plan.quota('bob', QUOTAS))).toBe(QUOTAS.pro)
    expect(plan.quota('bob', (name) => (name === 'pro' ? QUOTAS.pro : QUOTAS.free))).toBe(QUOTAS.pro)
    expect(plan.quota(undefined, QUOTAS)).toBe(QUOTAS.free)
  })

  test('is the same object each time, also while lookups fail', async () => {
    const { db, plan } = setUp({ default: 'free' })
    db.down = true
    const first = await after(10, plan.quota('bob', QUOTAS))
    expect(first).toMatchObject(QUOTAS.free)
    expect(plan.quota('bob', QUOTAS)).toBe(first)
    expect(first).not.toBe(QUOTAS.free)
  })

  // While a lookup failed, its marks were set on the promise: the quota was an empty object.
  test('may be a promise, or another thenable, also while lookups fail', async () => {
    const { db, plan } = setUp({ default: 'free' })
    const forwarding = (quota: Quota): PromiseLike<Quota> => runInNewContext('Promise').resolve(quota)
    const [own, foreign] = [async (name: Plan) => QUOTAS[name], (name: Plan) => forwarding(QUOTAS[name])]
    expect(await after(10, plan.quota('bob', own))).toBe(QUOTAS.pro)
    expect(await after(10, plan.quota('bob', foreign))).toBe(QUOTAS.pro)
    db.down = true
    expect(await after(10, plan.quota('ann', own))).toMatchObject(QUOTAS.free)
    expect(await after(10, plan.quota('ann', foreign))).toMatchObject(QUOTAS.free)
  })

  test('that is none is reported by the limiter, also while lookups fail', async () => {
    const { db, plan } = setUp({ default: 'free' })
    db.down = true
    for (const [key, none] of Object.entries({ ann: undefined, bob: {}, eve: 5 })) {
      const quota = await after(
        10,
        plan.quota(key, () => none as never),
      )
      expect(() => rateLimit({ quota })).toThrow('perMinute(100)')
    }
  })

  test.each([undefined, null, 5, 'free'])('of %o as quotas is an error that says what to write', async (quotas) => {
    const { plan } = setUp()
    await expect(after(10, plan.quota('bob', quotas as never))).rejects.toThrow(
      'quota(key, quotas) takes the quotas by value, { free: perMinute(60) }, or a function; got',
    )
  })

  test.each(['basic', 'toString', '__proto__'])(
    'of a value without one, %s, is an error that says what to add',
    async (name) => {
      const plan = cached(() => name as Plan, quiet)
      await expect(plan.quota('bob', QUOTAS as never)).rejects.toThrow(
        `there is no quota for "${name}": there are "free", "pro". Add it`,
      )
    },
  )
})

describe('an option', () => {
  const plan = (options: object) => () => cached(() => 'pro', options as CachedOptions<string>)
  test.each([
    [{ maxSize: 10 }, 'no option "maxSize"'],
    [{ max: 0 }, 'max must be a whole number of keys, 1 to 10000000; got 0.'],
    [{ max: 1e9 }, 'max must be a whole number of keys, 1 to 10000000; got 1000000000.'],
    [{ maxUnknown: '10' }, 'maxUnknown must be a whole number of keys, 1 to 10000000; got "10".'],
    [{ ttl: 'soon' }, 'ttl must be a positive duration'],
    [{ ttl: 0 }, 'ttl must be a positive duration'],
    [{ staleFor: -1 }, 'staleFor must be a positive duration'],
    [{ timeout: '5x' }, 'timeout must be a positive duration'],
    [{ onError: 'default' }, `onError must be 'stale' or 'throw'; got "default".`],
    [{ clock: 5 }, 'clock must be a function'],
    [{ logger: {} }, 'logger must have a method warn'],
  ])('%o is an error', (options, message) => expect(plan(options)).toThrow(message))

  test('that is no lookup is one, too', () =>
    expect(() => cached({ free: 1 } as never)).toThrow(
      'cached takes a function that looks up a key: cached((apiKey) => db.planOf(apiKey)); got an object.',
    ))
})

test.each([
  ['a promise', Promise.resolve('ann')],
  ['an object', { id: 'ann' }],
  ['a list', ['ann']],
  ['a number', 7],
])('%s is no key: all of them would get the value of the first', (_, key) => {
  const { db, plan } = setUp()
  expect(() => plan(key as never)).toThrow('cached: key must be a string')
  expect(() => plan.delete(key as never)).toThrow('cached: key must be a string')
  expect(db.lookups).toEqual([])
})

test('null is a missing key', () => {
  expect(setUp({ default: 'free' }).plan(null as never)).toBe('free')
})

test('a lookup that never ends is repeated after half a minute', async () => {
  const keys: string[] = []
  const lost = (key: string) => (keys.push(key) === 1 ? new Promise<Plan>(() => {}) : ('pro' as const))
  const plan = cached<Plan, Plan>(lost, { ...quiet, default: 'free' })
  expect(await after(1_000, plan('ann'))).toBe('free')
  await vi.advanceTimersByTimeAsync(28_000)
  expect(await after(1_000, plan('ann'))).toBe('free')
  expect(keys).toEqual(['ann'])
  await vi.advanceTimersByTimeAsync(1_001)
  expect(await after(1_000, plan('ann'))).toBe('pro')
  expect(keys).toEqual(['ann', 'ann'])
})

// The cache's own times took an entry of the time 0 for one that never expires.
test('a clock may start at 0', async () => {
  let now = 0
  const answers: (() => Plan | undefined)[] = [() => undefined, fail, () => 'pro']
  const plan = cached<Plan>(() => (answers.shift() as () => Plan | undefined)(), {
    ...quiet,
    ttl: '1m',
    clock: () => now,
  })
  expect(await plan('ann')).toBe(undefined)
  await expect(plan('bob')).rejects.toThrow('connection lost')
  now = 60_000
  expect(await plan('bob')).toBe('pro')
  answers.push(() => 'free')
  expect(await plan('ann')).toBe('free')
})

// Nothing was cached: each request was a lookup.
test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, '5', new Date(0)])(
  'a clock that returns %o fails the request',
  (now) => {
    const { db, plan } = setUp({ clock: () => now as never })
    expect(() => plan('ann')).toThrow('clock must return milliseconds, such as () => performance.now(); it returned')
    expect(db.lookups).toEqual([])
  },
)
