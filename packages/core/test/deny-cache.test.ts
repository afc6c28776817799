import { faultyStore, histories, modelStore, momentsOf, START, testStore } from '@spillway/conformance'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import {
  fixedWindow,
  penalty,
  perMinute,
  perSecond,
  type Quota,
  slidingLog,
  slidingWindow,
  type Take,
  tokenBucket,
  warmingUp,
  withDenyCache,
} from '../src/index.ts'
import { stepFor, type Verb } from '../src/internal.ts'

testStore(test, () => withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' }))

test('answers as the store behind it would, whatever the history', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const model = modelStore(() => START)
      const store = withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' })
      const moments = momentsOf(history)
      for (const [i, { ops }] of history.entries()) {
        expect(await store.take(ops, moments[i])).toEqual(model.takeSync(ops, moments[i]))
      }
    }),
    { numRuns: runsOf(500) },
  )
})

const take = (quota: Quota, key: string, cost: number): Take => ({
  policy: 'p',
  key,
  step: stepFor(quota, 'consume', cost),
})
const first = tokenBucket({ limit: 2, per: '1s', burst: 5, initial: 2, keepFull: '1ms' })
const then = tokenBucket({ limit: 9, per: '3s', refill: '3s', burst: 5, initial: 3, keepFull: '1ms' })
const slow = tokenBucket({ limit: 3, per: '1s', burst: 11, initial: 0 })
const misses = penalty({ after: 3, within: '250ms', block: '500ms', grow: 3, max: '20s', forgive: '1ms' })
const nothing = slidingLog({ limit: 0, window: '1s' })

// Found by random histories.
test.each<[string, readonly (readonly [atMicros: number, ops: readonly Take[]])[]]>([
  [
    // Seed 1927656600: the bucket of `first` has been full for long enough to be forgotten.
    'a key that may have been forgotten since another quota denied it',
    [
      [1_500_001, [take(first, 'b', 3)]],
      [1_500_001, [take(then, 'b', 1), take(first, 'a', 3)]],
      [3_001_001, [take(then, 'b', 6)]],
    ],
  ],
  [
    // Seeds 1487821759 and 856330363: a penalty that counts nothing leaves the state of the bucket, and later starts with it.
    'a key that a penalty denied without a state of its own',
    [
      [0, [take(slow, 'b', 1)]],
      [752_766, [take(misses, 'b', 4)]],
      [3_166_667, [take(misses, 'b', 4)]],
    ],
  ],
  [
    'a key that a log without units denied, once the clock is back',
    [
      [0, [take(nothing, 'b', 1)]],
      [-1, [take(nothing, 'b', 1)]],
    ],
  ],
])('asks the store for %s', async (_, history) => {
  const model = modelStore(() => START)
  const store = withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' })
  for (const [after, ops] of history) {
    expect(await store.take(ops, START + after)).toEqual(model.takeSync(ops, START + after))
  }
})

// Each pair differs in one number, which decides what the state of the other denies.
test.each<readonly [what: string, first: Quota, then: Quota]>([
  [
    'the refill',
    tokenBucket({ limit: 4, per: '4s', refill: '4s' }),
    tokenBucket({ limit: 4, per: '8s', refill: '8s', burst: 4 }),
  ],
  [
    'the units of a refill',
    tokenBucket({ limit: 4, per: '4s', refill: '4s' }),
    tokenBucket({ limit: 2, per: '4s', refill: '4s', burst: 4 }),
  ],
  [
    'the start of a window',
    fixedWindow({ limit: 4, window: '4s' }),
    fixedWindow({ limit: 4, window: '4s', offset: '1s' }),
  ],
  ['a refill at intervals', perSecond(4), tokenBucket({ limit: 4, per: '1s', refill: '1s' })],
  ['the length of a window', slidingWindow({ limit: 4, window: '4s' }), slidingWindow({ limit: 4, window: '5s' })],
  [
    'a window that fades',
    slidingWindow({ limit: 4, window: '4s' }),
    fixedWindow({ limit: 4, window: '4s', align: 'first' }),
  ],
  ['the units of a log', slidingLog({ limit: 4, window: '4s' }), slidingLog({ limit: 2, window: '4s' })],
  ['the length of a log', slidingLog({ limit: 4, window: '4s' }), slidingLog({ limit: 4, window: '2s' })],
  [
    'how long a key warms up',
    warmingUp({ limit: 4, per: '1s', warmUpPeriod: '2s' }),
    warmingUp({ limit: 4, per: '1s', warmUpPeriod: '6s' }),
  ],
  [
    'the rate of a key that warms up',
    warmingUp({ limit: 4, per: '1s', warmUpPeriod: '2s' }),
    warmingUp({ limit: 3, per: '1s', warmUpPeriod: '2s' }),
  ],
  [
    'the time in which misses count',
    penalty({ after: 4, within: '2s', block: '1s' }),
    penalty({ after: 4, within: '4s', block: '1s' }),
  ],
  [
    'how long blocks are remembered',
    penalty({ after: 4, within: '2s', block: '1s', grow: 2, max: '9s', forgive: '1s' }),
    penalty({ after: 4, within: '2s', block: '1s', grow: 2, max: '9s', forgive: '5s' }),
  ],
  ['the algorithm', slidingLog({ limit: 4, window: '4s' }), slidingWindow({ limit: 4, window: '4s' })],
])('answers as the store behind it would while a deploy changes %s', async (_, first, then) => {
  const call = fc.record({
    quota: fc.constantFrom(first, then),
    verb: fc.constantFrom<Verb>('consume', 'consume', 'consume', 'charge', 'refund'),
    cost: fc.constantFrom(1, 1, 1, 2, 3, 6),
    afterMs: fc.constantFrom(0, 0, 250, 500, 1_000, 2_000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 6, maxLength: 16 }), async (calls) => {
      const model = modelStore(() => START)
      const store = withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' })
      let now = START
      for (const { quota, verb, cost, afterMs } of calls) {
        now += afterMs * 1_000
        const ops = [{ policy: 'p', key: 'a', step: stepFor(quota, verb, cost) }]
        expect(await store.take(ops, now)).toEqual(model.takeSync(ops, now))
      }
    }),
    { numRuns: runsOf(250) },
  )
})

// What the property above the last has found.
test.each<[string, readonly (readonly [atMicros: number, verb: Verb, cost: number])[], Quota]>([
  [
    'a look while the clock is back shows what is not kept',
    [
      [0, 'consume', 6],
      [-1, 'peek', 4],
      [0, 'consume', 4],
    ],
    tokenBucket({ limit: 3, per: '1s', refill: '1s', burst: 6 }),
  ],
  [
    'when a window with nothing in it ends, the next one starts with the next request',
    [
      [0, 'consume', 1],
      [1_418_941, 'consume', 2],
      [2_000_001, 'consume', 2],
    ],
    slidingWindow({ limit: 1, window: '1s' }),
  ],
  [
    'a denial that finds no state leaves none',
    [
      [0, 'consume', 9],
      [1, 'consume', 9],
    ],
    slidingWindow({ limit: 1, window: '1s' }),
  ],
])('%s', async (_, calls, quota) => {
  const model = modelStore(() => START)
  const store = withDenyCache(faultyStore(modelStore(() => START)), { for: '1h' })
  for (const [after, verb, cost] of calls) {
    const ops = [{ policy: 'p', key: 'a', step: stepFor(quota, verb, cost) }]
    expect(await store.take(ops, START + after)).toEqual(model.takeSync(ops, START + after))
  }
})

// Found by the suite of stores, as a denial that Redis did not make: a refund of another key is in the same call.
test('forgets a denial if another quota has denied the key since, in a call with a refund', async () => {
  const store = withDenyCache(faultyStore(modelStore(() => START)), { stopwatch: () => 0 })
  const op = (key: string, quota: Quota, verb: Verb, cost = 1): Take => ({
    policy: 'p',
    key,
    step: stepFor(quota, verb, cost),
  })
  const long = perMinute(5)
  const short = tokenBucket({ limit: 4, per: '1s', refill: '1s' })
  await store.take([op('ann', long, 'consume', 5)])
  const batches = [[op('ann', long, 'consume')], [op('bob', long, 'refund')], [op('ann', short, 'consume')]]
  const answers = await store.takeEach?.(batches)
  expect(answers?.map(([answer]) => answer?.allowed)).toEqual([false, true, false])
  // The shorter quota forgets what the longer one has counted.
  expect((await store.take([op('ann', long, 'consume')]))[0]?.allowed).toBe(true)
})
