import { START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { perMinute, perSecond, type Quota, type State, slidingLog, slidingWindow, tokenBucket } from '../src/index.ts'
import { emptyAt, runKernel, stepFor } from '../src/internal.ts'
import { bucket } from '../src/kernels/bucket.ts'

const second = 1_000_000

describe('the edges of a bucket, to the microsecond', () => {
  const quota = perSecond(1, { burst: 5 })

  test('a wait of 1 is 1', () => {
    const due = (maxWaitMicros: number) =>
      bucket(START + 5 * second + 1, START, stepFor(perSecond(1, { burst: 6 }), 'consume', 1, { maxWaitMicros }))
        .allowed
    expect([due(0), due(1)]).toEqual([false, true])
  })

  test('a state as far ahead as an empty bucket is kept; one farther has seen the clock step back', () => {
    const at = (ahead: number) => bucket(START + ahead, START, stepFor(quota, 'consume', 1))
    expect(at(5 * second)).toMatchObject({ base: START + 5 * second, kept: START + 5 * second })
    // Handles of takes from before are still reported apart from later ones, unless the step was of more than an hour.
    const [tat, gross] = [START + 5 * second, START + 5 * second + 1]
    expect(at(5 * second + 1)).toMatchObject({ base: tat, kept: { tat, gross, turn: gross } })
    expect(at(3_605 * second + 1)).toMatchObject({ base: tat, kept: tat })
  })

  test('a debt of one has its sign', () => {
    const fast = perSecond(1_000_000, { burst: 5 })
    expect(bucket(undefined, START, stepFor(fast, 'charge', 5)).taken).toBe(START + 5)
    expect(bucket(undefined, START, stepFor(fast, 'charge', 6)).taken).toBe(-(START + 6))
  })

  test('a refund of the last take returns what time has not; of an earlier one, what no later turn stands on', () => {
    const returned = (until: number, later = 0) => {
      const of = {
        allowed: true,
        now: START,
        base: START + until - 2 * second,
        tat: START + until,
      }
      const { base, next } = bucket(START + 4 * second, START + later, stepFor(quota, 'refund', 2, { original: of }))
      return base - next
    }
    const last = [0, second, 2 * second + 1, 3 * second, 4 * second].map((later) => returned(4 * second, later))
    expect(last).toEqual([2 * second, 2 * second, 2 * second - 1, second, 0])
    const earlier = [0, second, second + 1, 2 * second, 3 * second].map((later) => returned(3 * second, later))
    expect(earlier).toEqual([2 * second, 2 * second, 2 * second - 1, second, 0])
    // Nobody has taken these: the state has been reset since.
    expect([returned(4 * second + 1), returned(9 * second)]).toEqual([0, 0])
  })
})

// Seven do not divide ten seconds: the last three microseconds are of no unit.
test('a bucket that refills at intervals reads a time in a cut interval as its end', () => {
  const seven = tokenBucket({ limit: 7, per: '10s', refill: '10s' })
  const ticks = (moment: number) => bucket(moment, START, stepFor(seven, 'peek', 1)).base - (START / 10 / second) * 7
  const full = bucket(undefined, START, stepFor(seven, 'consume', 7)).taken as number
  expect([full - 4, full - 3, full - 1, full].map(ticks)).toEqual([7, 7, 7, 7])
  const six = bucket(undefined, START, stepFor(seven, 'consume', 6)).taken as number
  expect([six, six + 1].map(ticks)).toEqual([6, 7])
  const thrice = tokenBucket({ limit: 7, per: '10s', refill: '10s', burst: 21 })
  const { base } = bucket(full - 1, START, stepFor(thrice, 'peek', 1))
  expect(base - (START / 10 / second) * 7).toBe(7)
})

const one = (quota: Quota) => stepFor(quota, 'consume', 1)
const minute = { limit: 10, window: '1m' } as const
const states: readonly (readonly [string, Quota, State])[] = [
  ['bucket', perMinute(10), START + 60 * second],
  ['sliding window', slidingWindow(minute), { start: START, current: 10, previous: 0 }],
  ['sliding log', slidingLog(minute), [START, 10]],
]

describe.each(states)('a state of a %s', (kind, _, state) => {
  // Reproduces: to others it was as good as none, so that two processes in a rolling deploy allowed each request.
  test.each(states)('denies what its units deny in others, too, until they refill: %s', (_, quota) => {
    const allowedAfter = (seconds: number) => runKernel(state, START + seconds * second, one(quota)).allowed
    expect([0, 1, 120].map(allowedAfter)).toEqual([false, false, true])
    // A denial keeps what it has found, so that its wait holds.
    expect(runKernel(state, START, one(quota)).kept).toBeDefined()
  })

  test.each(states)('is the same as none from a moment on, to others always: %s', (other, quota) => {
    const whole = { bucket: 60 * second, 'sliding window': 120 * second, 'sliding log': 60 * second }[kind] as number
    expect(emptyAt(state, one(quota))).toBe(other === kind ? START + whole : 0)
  })
})

describe('a state is the same as none', () => {
  test('when a debt is paid, and when a log has nothing in it', () => {
    expect(emptyAt(-(START + 90 * second), one(perMinute(10)))).toBe(START + 90 * second)
    expect(emptyAt([], one(slidingLog(minute)))).toBe(0)
  })

  test('no sooner than after two windows, if their shares are in coarse ticks', () => {
    const coarse = slidingWindow({ limit: 1_000_000, window: '7d' })
    const week = 7 * 86_400 * second
    expect(coarse.tick).toBe(1_000)
    expect(emptyAt({ start: START, current: 1, previous: 0 }, one(coarse))).toBe(START + 2 * week)
    const used = runKernel(undefined, START, stepFor(coarse, 'consume', 1_000_000)).taken
    const later = (at: number) => runKernel(used, START + at, stepFor(coarse, 'consume', 1_000_000)).allowed
    expect([later(week), later(2 * week)]).toEqual([false, true])
    const next = runKernel(used, START + week, stepFor(coarse, 'charge', 3)).taken
    const of = { allowed: true, now: START, start: START, current: 0, previous: 0 }
    expect(runKernel(next, START + week + 1, stepFor(coarse, 'refund', 400_000, { original: of })).taken).toEqual({
      start: START + week,
      current: 3,
      previous: 600_000,
    })
  })
})

test('an overdraft is what may be owed, of a bucket that refills at intervals too', () => {
  const quota = tokenBucket({ limit: 2, per: '1s', refill: '1s', burst: 4, overdraft: 3 })
  const owing = bucket(undefined, START, stepFor(quota, 'consume', 7))
  expect(owing.allowed).toBe(true)
  const early = bucket(owing.taken, START + second, stepFor(quota, 'consume', 1))
  const paid = bucket(owing.taken, START + 2 * second, stepFor(quota, 'consume', 1))
  expect([early.allowed, paid.allowed]).toEqual([false, true])
  expect(bucket(undefined, START, stepFor(quota, 'consume', 8)).allowed).toBe(false)
})
