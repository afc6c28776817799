import { fakeClock, modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { unhandledRejections } from '../../../test/unhandled.ts'
import {
  penalty,
  perDay,
  perMinute,
  perSecond,
  type Quota,
  rateLimiter,
  type Step,
  type Store,
  StoreError,
  type SyncStore,
  slidingLog,
  slidingWindow,
  type Taken,
  tokenBucket,
  warmingUp,
  withLeases,
} from '../src/index.ts'

// What a custom store may answer by mistake. Each is a failure of the store, about which onStoreError decides.

const unhandled = unhandledRejections()

const logger = { warn: () => {} }
const answering = (answer: () => unknown): Store => ({
  take: answer as Store['take'],
  takeEach: answer as NonNullable<Store['takeEach']>,
  delete: async () => 0,
})

const answers: readonly [what: string, answer: () => unknown][] = [
  ['nothing', async () => undefined],
  ['nothing, and no promise', () => undefined],
  ['no result', async () => []],
  ['null as a result', async () => [null, null]],
  ['an object', async () => ({})],
  ['text', async () => 'OK'],
  ['results without numbers', async () => [{ allowed: true }, { allowed: true }]],
  ['NaN', async () => Array(2).fill({ allowed: true, now: Number.NaN, base: 0, tat: 0 })],
  ['no verdict', async () => Array(2).fill({ allowed: 1, now: 0, base: 0, tat: 0 })],
  ['a number as gross', async () => Array(2).fill({ allowed: true, now: 0, base: 0, tat: 0, gross: 0 })],
]

describe.each(answers)('a store that answers %s', (_, answer) => {
  const degraded = { reason: 'error', action: 'local' }
  const one = () => rateLimiter({ quota: perMinute(2), store: answering(answer), logger })

  test('has failed for one policy, and for several', async () => {
    const limiter = one()
    const several = rateLimiter({ quotas: { a: perMinute(2), b: perMinute(9) }, store: answering(answer), logger })
    for (const each of [limiter, several]) {
      const decisions = [await each.consume('ann'), await each.consume('ann'), await each.consume('ann')]
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false])
      expect(decisions).toEqual(Array(3).fill(expect.objectContaining({ degraded })))
    }
  })

  test('has failed for consumeUpTo and inspect', async () => {
    expect(await one().consumeUpTo('ann', 5)).toMatchObject({ consumed: 2, degraded })
    await expect(one().inspect('ann')).rejects.toMatchObject({ code: 'ERR_SPILLWAY_STORE' })
  })

  test('after the deadline is ignored', async () => {
    let settle: (value: unknown) => void = () => {}
    const late = new Promise((resolve) => {
      settle = resolve
    })
    const limiter = rateLimiter({ quota: perMinute(2), store: answering(() => late), deadline: 1, logger })
    expect(await limiter.consume('ann')).toMatchObject({ degraded: { reason: 'timeout', action: 'local' } })
    settle(await answer())
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })

  // Reproduces a bug: the process ended by an unhandled rejection.
  test('to the return of a lease is ignored', async () => {
    const model = modelStore(() => START)
    const take: Store['take'] = (ops) =>
      (ops[0]?.step.increment ?? 0) < 0 ? (answer() as ReturnType<Store['take']>) : model.take(ops)
    const store = withLeases({ take, delete: async () => 0 }, { requests: 10, maxLoss: '1m' })
    const limiter = rateLimiter({ quota: perMinute(100), store, deadline: '10s' })
    for (let i = 0; i < 4; i++) await limiter.consume('ann')
    expect((await limiter.peek('ann')).allowed).toBe(true)
    for (let i = 0; i < 4; i++) await limiter.consume('ann')
    await store.release()
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })

  // A store may watch the time itself, and say so by an error of ours with the call that it gave up.
  test('to a call that it gave up is ignored', async () => {
    const gaveUp = async () => {
      throw new StoreError('late', undefined, { reason: 'timeout', late: (async () => answer())() })
    }
    const limiter = rateLimiter({ quota: perMinute(2), store: answering(gaveUp), logger })
    for (const decided of [limiter.consume('ann'), limiter.consumeUpTo('ann', 1)]) {
      expect(await decided).toMatchObject({ degraded: { reason: 'timeout', action: 'local' } })
    }
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toEqual([])
  })
})

const quotas: readonly [Quota['kernel'], Quota][] = [
  ['bucket', perMinute(5)],
  ['sliding-window', slidingWindow({ limit: 5, window: '1m' })],
  ['sliding-log', slidingLog({ limit: 5, window: '1m' })],
  ['warm-up', warmingUp({ limit: 5, per: '1s', warmUpPeriod: '10s' })],
  ['penalty', penalty({ after: 5, within: '1m', block: '1m' })],
]

// Reproduces a bug: the error was thrown where no one waits for it. The call was never answered, and after a timeout the
// process ended.
describe.each(['slotOf', 'shardOf'] as const)('a store whose %s throws', (name) => {
  const broken = (answer: () => unknown): Store => ({
    ...answering(answer),
    [name]: () => {
      throw new Error('no cluster')
    },
  })

  test.each([
    ['error', () => Promise.reject(new Error('connection lost'))],
    ['timeout', () => new Promise(() => {})],
  ])('has failed all the same: %s', async (reason, answer) => {
    const limiter = rateLimiter({ quota: perMinute(2), store: broken(answer), deadline: 1, logger })
    for (const allowed of [true, true, false]) {
      expect(await limiter.consume('ann')).toMatchObject({ allowed, degraded: { reason, action: 'local' } })
    }
    expect(unhandled).toEqual([])
  })
})

test('a store that throws an error that cannot be read has failed', async () => {
  const unreadable = Object.defineProperty(new Error(), 'message', {
    get: () => {
      throw new Error('unreadable')
    },
  })
  const limiter = rateLimiter({ quota: perMinute(2), store: answering(() => Promise.reject(unreadable)), logger })
  expect(await limiter.consume('ann')).toMatchObject({ degraded: { reason: 'error', action: 'local' } })
  expect(unhandled).toEqual([])
})

// Reproduces a bug: a step is built once for many requests. A store that changed it ended the limit.
test.each(quotas)('a store cannot change the step of a %s for later requests', async (_, quota) => {
  const model = modelStore(fakeClock())
  const store: Store = {
    delete: model.delete,
    async take(ops) {
      const taken = await model.take(ops)
      for (const { step } of ops) Object.assign(step, { increment: 0, check: 0 })
      return taken
    },
  }
  const limiter = rateLimiter({ quota, store, logger, onStoreError: 'throw' })
  for (let i = 0; i < 2; i++) await expect(limiter.consume('ann')).rejects.toThrow('read only property')
})

test.each(quotas)('each number of a %s result is needed', async (_, quota) => {
  const model = modelStore(fakeClock())
  const [whole] = (await model.take([
    { policy: 'p', key: 'k', step: (await stepOf(quota)) as never },
  ])) as unknown as readonly [Readonly<Record<string, unknown>>]
  const names = Object.keys(whole).filter((name) => typeof whole[name] === 'number')
  expect(names.length).toBeGreaterThanOrEqual(3)
  for (const name of names) {
    const store = answering(async () => [{ ...whole, [name]: undefined }] as unknown as Taken[])
    const { degraded } = await rateLimiter({ quota, store, logger }).consume('ann')
    expect([name, degraded?.reason]).toEqual([name, 'error'])
  }
})

/** The step that a limiter with this quota sends. */
async function stepOf(quota: Quota): Promise<unknown> {
  let step: unknown
  const spy: Store = {
    take: async (ops) => {
      step = ops[0]?.step
      throw new Error('down')
    },
    delete: async () => 0,
  }
  await rateLimiter({ quota, store: spy, logger }).consume('ann')
  return step
}

// Reproduces a bug: resetAll resolved with NaN, and reset reported that there was no state.
describe.each([undefined, '2', -1, 1.5, Number.NaN])('a store that has deleted %s states', (count) => {
  const delivers = { delete: async () => count, deleteAll: async () => count } as unknown as Partial<Store>
  const store: Store = { ...modelStore(() => START), ...delivers }
  const { deleteSync: _, takeSync: __, ...remote } = store as SyncStore
  const sync = { ...store, deleteSync: () => count } as unknown as SyncStore

  test.each([
    ['remote', remote],
    ['in memory', sync],
  ])('has failed, %s', async (_, store: Store) => {
    const limiter = rateLimiter({ quota: perMinute(2), store, logger })
    const failure = { code: 'ERR_SPILLWAY_STORE', message: expect.stringContaining('how many states it has deleted') }
    await expect(limiter.reset('ann')).rejects.toMatchObject(failure)
    await expect(limiter.resetAll()).rejects.toMatchObject(failure)
  })
})

// Reproduces a bug: parts of a step were not frozen, and a store that changed them ended the limit.
test('a store cannot change the steps that it is given', async () => {
  const seen: Step[] = []
  const model = modelStore(() => START)
  const store: Store = {
    take: (ops, at) => {
      seen.push(...ops.map(({ step }) => step))
      return model.take(ops, at)
    },
    delete: async () => 0,
  }
  const quotas = { parts: perSecond(7), start: tokenBucket({ limit: 7, per: '1s', initial: 1 }), daily: perDay(5) }
  await rateLimiter({ quotas, store, logger }).consume('ann')
  expect(seen).toHaveLength(3)
  for (const step of seen) {
    expect(Object.entries(step).filter(([, value]) => !Object.isFrozen(value))).toEqual([])
  }
})

const take = { look: () => true, commit: () => ({}), take: () => ({}) }

// Reproduces a bug: such a clock denied every request without a word, or counted wrongly.
test.each([
  ['NaN', Number.NaN],
  ['nothing', undefined],
  ['a promise', Promise.resolve(1)],
  ['text', '1000000'],
  ['a fraction', 1.5],
  ['a time before 1970', -1],
])('a clock of a store that returns %s is refused', (_, now) => {
  const store = { ...modelStore(() => START), clock: () => now, prepareSync: () => take } as unknown as SyncStore
  expect(() => rateLimiter({ quota: perMinute(2), store })).toThrow('clock of a store must return whole microseconds')
})

// Reproduces a bug: a TypeError that named no option.
test.each([null, undefined, 5, {}, Promise.resolve()])('a prepared take that is %s is refused', (take: unknown) => {
  const store = { ...modelStore(() => START), clock: () => START, prepareSync: () => take } as unknown as SyncStore
  expect(() => rateLimiter({ quota: perMinute(2), store })).toThrow('must return an object with look, commit and take')
})
