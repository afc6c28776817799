import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bucketAlgorithm } from '../src/algorithms/bucket/bucket-algorithm.ts'
import { continuousAlgorithm } from '../src/algorithms/bucket/continuous-algorithm.ts'
import * as lean from '../src/algorithms/bucket/lean-rates.ts'
import * as whole from '../src/algorithms/bucket/token-bucket.ts'
import type { BucketTaken } from '../src/kernels/bucket-taken.ts'

const builders = fc.constantFrom(
  { build: lean.perSecond, buildWhole: whole.perSecond },
  { build: lean.perMinute, buildWhole: whole.perMinute },
  { build: lean.perHour, buildWhole: whole.perHour },
  { build: lean.perDay, buildWhole: whole.perDay },
)
const burst = fc.option(fc.integer({ min: 1, max: 5_000 }), { nil: undefined })
const now = 1.8e15

test('a lean function builds the same quota as the other of its name, and the part of its algorithm decides the same', () => {
  fc.assert(
    fc.property(
      builders,
      fc.nat(5_000),
      burst,
      fc.integer({ min: 1, max: 6_000 }),
      fc.nat(1e9),
      ({ build, buildWhole }, limit, most, cost, used) => {
        const options = most === undefined ? {} : { burst: most }
        const quota = build(limit, options)
        expect(quota).toEqual(buildWhole(limit, options))
        expect(continuousAlgorithm.checks.isComplete(quota) && continuousAlgorithm.checks.agree(quota)).toBe(true)
        const step = continuousAlgorithm.stepFor(quota, 'consume', cost, {})
        expect(step).toEqual(bucketAlgorithm.stepFor(quota, 'consume', cost, {}))
        const base = now + used
        for (const allowed of [true, false]) {
          const tat = allowed ? base + step.increment : base
          const early = step.fraction === null ? {} : { early: { scale: step.fraction.scale, base: 0, tat: 0 } }
          const taken: BucketTaken = { allowed, now, base, tat, ...early }
          expect(continuousAlgorithm.decider('a', quota, cost, step)(taken)).toEqual(
            bucketAlgorithm.decider('a', quota, cost, step)(taken),
          )
        }
      },
    ),
  )
})

test.each([-1, Number.NaN, '5'])('a lean function rejects %o with the words of the other', (limit) => {
  const errorOf = (build: (limit: number) => unknown): unknown => {
    try {
      return build(limit as number)
    } catch (error) {
      return error
    }
  }
  expect(errorOf(lean.perMinute)).toBeInstanceOf(Error)
  expect(errorOf(lean.perMinute)).toEqual(errorOf(whole.perMinute))
})

test('a lean function proposes a whole limit: it has no other function for the same rate', () => {
  expect(() => lean.perMinute(1.5)).toThrow('perMinute limit must be a whole number, 0 or more; got 1.5. Use 2.')
})

test.each([
  ['intervals', whole.tokenBucket({ limit: 2, per: '1m', refill: '30s' })],
  ['a start', whole.tokenBucket({ limit: 2, per: '1m', initial: 0 })],
])('the part of the algorithm rejects a quota with %s', (_, quota) => {
  expect(continuousAlgorithm.checks.isComplete(quota)).toBe(false)
})

test('the part of the algorithm throws where it is not enough, and says what to import', () => {
  const quota = lean.perMinute(2)
  const message = "Import perMinute from '@spillway/core'"
  expect(() => continuousAlgorithm.stepFor(quota, 'refund', 1, {})).toThrow(message)
  expect(() => continuousAlgorithm.divide(quota, 2)).toThrow(message)
  expect(() => continuousAlgorithm.kernel).toThrow(message)
})
