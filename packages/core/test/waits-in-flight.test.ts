import { describe, expect, test, vi } from 'vitest'
import { httpGuard } from '../src/http/index.ts'
import {
  leakyBucket,
  perSecond,
  type Quota,
  type RateLimiter,
  rateLimiter,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { type FakeRequest, reader } from './fake-request.ts'
import { fakeTimeStore, useFakeTime } from './fake-time.ts'

// Callers whose acquisitions a store has not answered when they leave, or when their key is reset.

useFakeTime()

/** A store that takes at once and answers when the test says so. */
function heldStore() {
  const model = fakeTimeStore()
  let answers: (() => void)[] = []
  let isHolding = false
  let takes = 0
  const store: Store = {
    take: async (ops, at) => {
      takes += 1
      const taken = model.takeSync(ops, at)
      if (isHolding) await new Promise<void>((answer) => answers.push(answer))
      return taken
    },
    delete: model.delete,
    ...(model.deleteAll && { deleteAll: model.deleteAll }),
  }
  const flush = () => vi.advanceTimersByTimeAsync(0)
  return {
    store,
    flush,
    takes: () => takes,
    hold: () => {
      isHolding = true
    },
    /** Answers those that wait, in an order; later ones at once. */
    answer: async (inOrder: (all: readonly (() => void)[]) => readonly (() => void)[] = (all) => all) => {
      isHolding = false
      const all = answers
      answers = []
      for (const each of inOrder(all)) {
        each()
        await flush()
      }
    },
  }
}

const orders = {
  'in their order': <T>(all: readonly T[]) => all,
  reversed: <T>(all: readonly T[]) => [...all].reverse(),
  'odd ones first': <T>(all: readonly T[]) => [...all.filter((_, i) => i % 2), ...all.filter((_, i) => i % 2 === 0)],
}

const minute = (burst: number): Quota => tokenBucket({ limit: 60, per: '1h', burst })

const quotas: readonly (readonly [string, Quota | Record<string, Quota>])[] = [
  ['a bucket', minute(5)],
  ['a leaky queue', leakyBucket({ limit: 60, per: '1h', queue: 500 })],
  ['a sliding window', slidingWindow({ limit: 5, window: '1h' })],
  ['a sliding log', slidingLog({ limit: 5, window: '1h' })],
  ['two policies', { one: minute(3), two: minute(5) }],
  ['a bucket and a window', { one: minute(3), two: slidingWindow({ limit: 500, window: '1h' }) }],
]

const limiterOf = (quota: Quota | Record<string, Quota>, store: Store): RateLimiter =>
  'kernel' in quota
    ? rateLimiter({ quota: quota as Quota, store, deadline: '1h' })
    : (rateLimiter({ quotas: quota as Record<string, Quota>, store, deadline: '1h' }) as never)

const stateOf = (limiter: RateLimiter) => limiter.peek('api')

const cases = quotas.flatMap(([name, quota]) =>
  Object.entries(orders).flatMap(([order, inOrder]) =>
    [0, 5].map((used) => [name, order, used, quota, inOrder] as const),
  ),
)

// Those that left gave the last turn back while the store had later ones: of 100 callers, 95 units were lost.
describe.each(cases)('%s, answers %s, %i units used before', (_, _order, used, quota, inOrder) => {
  const setUp = async () => {
    const remote = heldStore()
    const limiter = limiterOf(quota, remote.store)
    for (let i = 0; i < used; i++) await limiter.consume('api')
    return { ...remote, limiter, before: await stateOf(limiter) }
  }
  const callers = (limiter: RateLimiter, count: number) =>
    Array.from({ length: count }, () => {
      const abort = new AbortController()
      const result = limiter.wait('api', { signal: abort.signal }).then(
        () => 'served',
        () => 'left',
      )
      return { result, leave: () => abort.abort() }
    })

  test('callers who leave before the answers return all units', async () => {
    const { limiter, before, hold, flush, answer } = await setUp()
    hold()
    const all = callers(limiter, 100)
    await flush()
    for (const { leave } of all) leave()
    await answer(inOrder)
    expect(await Promise.all(all.map(({ result }) => result))).toEqual(Array(100).fill('left'))
    await flush()
    expect(await stateOf(limiter)).toEqual(before)
  })

  test('the state is that of the callers who stay, if others leave before, in and after the answers', async () => {
    const { limiter, hold, flush, answer } = await setUp()
    hold()
    const all = callers(limiter, 20)
    const leaveIf = (leaves: (i: number) => boolean): void => {
      for (const { leave } of all.filter((_, i) => leaves(i))) leave()
    }
    await flush()
    leaveIf((i) => i % 3 === 0)
    await answer((answers) => {
      const leaveAmid = (): void => leaveIf((i) => i % 3 === 1)
      return inOrder(answers).flatMap((each, i) => (i === 9 ? [each, leaveAmid] : [each]))
    })
    await flush()
    leaveIf((i) => i % 7 === 2)
    await flush()
    const stay = async (result: Promise<string>) => (await Promise.race([result, flush().then(flush)])) !== 'left'
    const kept = (await Promise.all(all.map(({ result }) => stay(result)))).filter((stays) => stays).length
    const other = heldStore()
    const expected = limiterOf(quota, other.store)
    for (let i = 0; i < used; i++) await expected.consume('api')
    const others = callers(expected, kept)
    await flush()
    expect(await stateOf(limiter)).toEqual(await stateOf(expected))
    for (const { leave } of [...all, ...others]) leave()
    await flush()
  })
})

test('while callers leave without a pause, others are sent once the units of those before are returned', async () => {
  const { store, hold, flush, answer, takes } = heldStore()
  const limiter = rateLimiter({ quota: minute(1), store, deadline: '1h' })
  await limiter.consume('api')
  const abort = new AbortController()
  hold()
  const gone = Array.from({ length: 50 }, () => limiter.wait('api', { signal: abort.signal }).catch(() => {}))
  abort.abort()
  await flush()
  const before = takes()
  await answer()
  hold()
  const next = limiter.wait('api', { maxWait: '1m' }).then(({ allowed }) => allowed)
  await flush()
  await answer()
  await Promise.all(gone)
  // As many refunds as takes, and one more take.
  expect(takes() - before).toBe(51)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await next).toBe(true)
})

test('requests that are reset before the answers return all units', async () => {
  const { store, hold, flush, answer } = heldStore()
  const quota = leakyBucket({ limit: 60, per: '1h', queue: 100 })
  const guard = httpGuard<FakeRequest>({ quota, store, deadline: '1h', name: 'http' } as never, reader)
  await guard({})
  const limiter = rateLimiter({ quota, store, name: 'http' })
  const before = await limiter.peek('203.0.113.7')
  hold()
  const gone = Array.from({ length: 100 }, () => new Set<() => void>())
  const verdicts = gone.map((each) => Promise.resolve(guard({ gone: each })))
  await flush()
  for (const listeners of gone) for (const listener of listeners) listener()
  await answer()
  await flush()
  for (const listeners of gone) for (const listener of listeners) listener()
  await Promise.all(verdicts)
  await flush()
  expect((await limiter.peek('203.0.113.7')).resetAfterMs).toBe(before.resetAfterMs)
})

// The one in flight kept its turn of the deleted state: it waited for 4,899 ms, though a unit was free.
describe.each(['reset', 'resetAll'] as const)('%s', (verb) => {
  test.each(Object.entries(orders))(
    'gives calls in flight new turns, in their order, answers %s',
    async (_, inOrder) => {
      const { store, hold, flush, answer } = heldStore()
      const limiter = rateLimiter({ quota: perSecond(1), store, deadline: '1h' })
      const served: string[] = []
      const call = (name: string) => limiter.wait('api').then(() => void served.push(`${name}@${Date.now()}`))
      const calls = ['a', 'b', 'c'].map(call)
      await flush()
      hold()
      calls.push(...['d', 'e', 'f'].map(call))
      await flush()
      const reset = verb === 'reset' ? limiter.reset('api') : limiter.resetAll()
      calls.push(call('g'))
      await flush()
      await answer(inOrder)
      await reset
      calls.push(call('h'))
      await vi.advanceTimersByTimeAsync(10_000)
      await Promise.all(calls)
      expect(served).toEqual(['a@0', 'b@0', 'c@1000', 'd@2000', 'e@3000', 'f@4000', 'g@5000', 'h@6000'])
    },
  )
})
