import { START } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SlidingLogState, type SlidingLogStep, type SlidingLogTaken, slidingLog } from '../src/index.ts'
import { decide, stepFor, type Verb } from '../src/internal.ts'
import { slidingLog as kernel, readLog } from '../src/kernels/sliding-log.ts'
import { PlainLog } from './plain-log.ts'

const second = 1_000_000
const three = slidingLog({ limit: 3, window: '10s' })

type Row = readonly [at: number, verb: Verb, cost: number, allowed: boolean, log: string | undefined, takenAt?: number]

/** Tells a story on one key: at second, what is done, and the log it leaves as `second:units`. */
const story = (rows: readonly Row[]) => () => {
  let state: SlidingLogState | undefined
  for (const [at, verb, cost, allowed, log, takenAt] of rows) {
    const outcome = kernel(state, secondAt(at), stepOf(verb, cost, takenAt === undefined ? takenAt : secondAt(takenAt)))
    if (verb !== 'peek') state = outcome.allowed ? outcome.taken : outcome.kept
    expect([at, verb, outcome.allowed, reported(state)]).toEqual([at, verb, allowed, log])
  }
}

const secondAt = (at: number): number => START + Math.round(at * second)

const reported = (log: SlidingLogState | undefined): string | undefined =>
  log
    ?.map((value, i) => (i % 2 === 0 ? `${(value - START) / second}` : `:${value} `))
    .join('')
    .trimEnd()

/** A step, of a refund that knows when the units were taken, if it does. */
function stepOf(verb: Verb, cost: number, since?: number): SlidingLogStep {
  const stepOptions = since === undefined ? {} : { original: { now: since } as SlidingLogTaken }
  return stepFor(three, verb, cost, stepOptions) as SlidingLogStep
}

describe('a sliding log', () => {
  test(
    'remembers what passed for exactly its window, one entry a moment',
    story([
      [0, 'peek', 1, true, undefined],
      [0, 'consume', 1, true, '0:1'],
      [0, 'consume', 1, true, '0:2'],
      [4, 'consume', 1, true, '0:2 4:1'],
      [4, 'consume', 1, false, '0:2 4:1'],
      [9.999999, 'consume', 2, false, '0:2 4:1'],
      [10, 'consume', 2, true, '4:1 10:2'],
      [14, 'consume', 2, false, '4:1 10:2'],
      [14, 'consume', 1, true, '10:2 14:1'],
      [40, 'peek', 3, true, '10:2 14:1'],
      [40, 'consume', 3, true, '40:3'],
    ]),
  )

  test(
    'gives back the latest units where it is not reported which, and leaves nothing of an emptied entry',
    story([
      [0, 'refund', 1, true, undefined],
      [0, 'consume', 2, true, '0:2'],
      [1, 'consume', 1, true, '0:2 1:1'],
      [2, 'refund', 2, true, '0:1'],
      [3, 'consume', 1, true, '0:1 3:1'],
      [3, 'refund', 9, true, ''],
      [3, 'refund', 1, true, ''],
      [4, 'consume', 3, true, '4:3'],
    ]),
  )

  test(
    'gives back of the moment it is reported, if that is still there',
    story([
      [0, 'consume', 2, true, '0:2'],
      [1, 'consume', 1, true, '0:2 1:1'],
      [2, 'refund', 1, true, '0:1 1:1', 0],
      [2, 'refund', 5, true, '1:1', 0],
      [2, 'refund', 1, true, '1:1', 0.5],
      [11, 'consume', 3, true, '11:3'],
      [11, 'refund', 1, true, '11:3', 1],
    ]),
  )

  test(
    'keeps what is owed as one entry, from the latest charge on, and stays bounded',
    story([
      [0, 'consume', 2, true, '0:2'],
      [1, 'charge', 2, true, '0:2 1:2'],
      [2, 'charge', 5, true, '0:2 2:7'],
      [3, 'charge', 1, true, '0:2 3:8'],
      [4, 'consume', 1, false, '0:2 3:8'],
      [12.999999, 'consume', 1, false, '0:2 3:8'],
      [13, 'consume', 1, true, '13:1'],
    ]),
  )

  test(
    'dates what was taken after now to now when the clock has stepped back, and forgets none of it',
    story([
      [0, 'consume', 1, true, '0:1'],
      [4, 'consume', 1, true, '0:1 4:1'],
      [6, 'consume', 1, true, '0:1 4:1 6:1'],
      [2, 'peek', 1, false, '0:1 4:1 6:1'],
      [2, 'consume', 1, false, '0:1 2:2'],
      [-50, 'consume', 1, false, '-50:3'],
      [-50, 'refund', 1, true, '-50:2'],
      [-60, 'consume', 1, true, '-60:3'],
      [-50.000001, 'consume', 1, false, '-60:3'],
      [-50, 'consume', 1, true, '-50:1'],
    ]),
  )

  test(
    'dates no more to now than is after now, to the microsecond',
    story([
      [4.999999, 'consume', 1, true, '4.999999:1'],
      [5, 'consume', 1, true, '4.999999:1 5:1'],
      [5.000001, 'consume', 1, true, '4.999999:1 5:1 5.000001:1'],
      [5, 'consume', 1, false, '4.999999:1 5:2'],
    ]),
  )

  test('is unchanged by a denial, also if some of it has expired', () => {
    const state = [START - 20 * second, 1, START, 3]
    expect(kernel(state, START, stepOf('consume', 1)).kept).toBe(state)
  })
})

test('a changed limit or window finds the same takes: 60 used of 100 leave 140 of 200, and none of 20', () => {
  const used = kernel(undefined, START, stepFor(slidingLog({ limit: 100, window: '1m' }), 'consume', 60) as never).taken
  const left = [200, 100, 20].map((limit) => {
    const quota = slidingLog({ limit, window: '1m' })
    const step = stepFor(quota, 'peek', 1) as never
    return decide('p', quota, 1, step, readLog(kernel(used, START, step), START, step, false)).remaining
  })
  expect(left).toEqual([140, 40, 0])
})

const calls = fc.array(
  fc.record({
    after: fc.oneof(fc.constantFrom(0, second), fc.integer({ min: -2 * second, max: 9 * second })),
    verb: fc.constantFrom<Verb>('consume', 'consume', 'consume', 'refund', 'charge'),
    cost: fc.integer({ min: 1, max: 4 }),
    back: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  }),
  { maxLength: 30 },
)

/** Holds a log against the plain one at one call, and returns the state it leaves. */
function compare(plain: PlainLog, state: SlidingLogState | undefined, now: number, step: SlidingLogStep, verb: Verb) {
  const outcome = kernel(state, now, step)
  const fitsAt = plain.fitsAt(now, step.check)
  const allowed = plain.step(now, verb, Math.abs(step.increment), step.since || undefined)
  const seen = plain.seen(now)
  const used = seen.length
  const emptyAt = used === 0 ? now : (seen.at(-1) as number) + 10 * second
  const freesAt = plain.fitsAt(now, Math.max(3 - used, 0) + 1)
  const taken = readLog(outcome, now, step, allowed)
  expect(taken).toMatchObject({ allowed, used, emptyAt, freesAt })
  if (verb === 'consume' && step.check <= 3) expect(taken.fitsAt).toBe(fitsAt)
  return outcome.allowed ? outcome.taken : outcome.kept
}

test('a sliding log answers as one does that keeps a moment for each unit, in less room', () => {
  fc.assert(
    fc.property(calls, (history) => {
      const plain = new PlainLog(3, 10 * second)
      const asked: number[] = []
      let state: SlidingLogState | undefined
      let now = START
      for (const { after, verb, cost, back } of history) {
        now += after
        const since = verb === 'refund' && back !== undefined ? asked.at(-1 - back) : undefined
        asked.push(now)
        state = compare(plain, state, now, stepOf(verb, cost, since), verb)
        expect(state?.length ?? 0).toBeLessThanOrEqual(2 * 3)
      }
    }),
    { numRuns: 500 },
  )
})
