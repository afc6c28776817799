import { START } from '@spillway/conformance'
import {
  type Duration,
  divideQuota,
  type PenaltyOptions,
  type PenaltyTaken,
  penalty,
  type Quota,
  type State,
} from '@spillway/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import type { StepOptions, Verb } from '../src/algorithms/step-options.ts'
import { runKernel, stepFor, takenOf } from '../src/internal.ts'
import { LOGIN, minute } from './penalties.ts'

/** One key, by the kernel: asks at a time in microseconds after START. */
function keyOf(quota: Quota) {
  let state: State | undefined
  return (verb: Verb, cost: number, at: number, options?: StepOptions): PenaltyTaken => {
    const step = stepFor(quota, verb, cost, options)
    const outcome = runKernel(state, START + at, step)
    if (verb !== 'peek') state = outcome.allowed ? outcome.taken : outcome.kept
    return takenOf(outcome, START + at, step, outcome.allowed && verb !== 'peek') as PenaltyTaken
  }
}

/**
 * The rule as it is documented: a list of windows, each with its units by the take that consumed them. A window is blocked
 * from the last of its takes at which it had `after` units, and counts as a block in a row once that block is over.
 */
function written({ after, within, block, grow = 1, max = block, forgive = max }: PenaltyOptions) {
  const ms = (duration: Duration): number => Number(duration) * 1_000
  const windows: { readonly from: number; readonly units: Map<number, number>; filled: number }[] = []
  const unitsOf = (units: ReadonlyMap<number, number>): number => [...units.values()].reduce((a, b) => a + b, 0)
  /** The end of the last window, by the blocks in a row before it. */
  const end = (): number => {
    let [inRow, free, end] = [0, Number.NEGATIVE_INFINITY, 0]
    for (const { from, units, filled } of windows) {
      end = from + ms(within)
      if (unitsOf(units) < after) continue
      inRow = filled - free >= ms(forgive) ? 0 : inRow
      end = filled + Math.min(ms(block) * grow ** inRow, ms(max))
      inRow += 1
      free = end
    }
    return end
  }
  const windowAt = (at: number): (typeof windows)[number] => {
    const last = windows.at(-1)
    if (last && at < end() && unitsOf(last.units) > 0) return last
    const fresh = { from: at, units: new Map<number, number>(), filled: 0 }
    windows.push(fresh)
    return fresh
  }
  return {
    take(id: number, cost: number, at: number): number | undefined {
      const window = windowAt(at)
      if (unitsOf(window.units) + cost > after) return end() - at
      window.units.set(id, cost)
      window.filled = at
      return undefined
    },
    refund(id: number, at: number): void {
      const last = windows.at(-1)
      if (last && at < end()) last.units.delete(id)
    },
  }
}

interface Act {
  readonly after: number
  readonly cost: number
  readonly refunds: number | null
}

describe('a penalty', () => {
  const quotas = fc.record({
    after: fc.integer({ min: 1, max: 4 }),
    within: fc.constantFrom(5, 40),
    block: fc.constantFrom(5, 40, 60),
    grow: fc.constantFrom(1, 2, 3),
    max: fc.constantFrom(60, 200),
    forgive: fc.constantFrom(7, 300),
  })
  const acts = fc.array(
    fc.record({
      after: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.constantFrom(0, 5_000, 40_000, 60_000, 300_000)),
      cost: fc.integer({ min: 1, max: 3 }),
      refunds: fc.option(fc.nat(20), { freq: 2 }),
    }),
    { minLength: 1, maxLength: 40 },
  )

  /** Plays a history on the kernel and on the model, and compares each decision and each wait. */
  const compare = (options: PenaltyOptions, calls: readonly Act[]): void => {
    const key = keyOf(penalty(options))
    const model = written(options.grow === 1 ? { ...options, forgive: 1e-9 } : options)
    const takes: (PenaltyTaken | undefined)[] = []
    const refund = (which: number, at: number): void => {
      const original = takes[which]
      if (!original?.allowed) return
      takes[which] = undefined
      key('refund', original.count, at, { original })
      model.refund(which, at)
    }
    const consume = (cost: number, at: number): void => {
      const { allowed, until, first, now, ...rest } = key('consume', cost, at)
      const end = until > 0 ? until : first + Number(options.within) * 1_000
      expect([at, allowed ? undefined : end - now]).toEqual([at, model.take(takes.length, cost, at)])
      // The units of the take, for its refund.
      takes.push({ ...rest, allowed, until, first, now, count: cost })
    }
    let at = 0
    for (const { after, cost, refunds } of calls) {
      at += after
      if (refunds === null || takes[refunds] === undefined) consume(cost, at)
      else refund(refunds, at)
    }
  }

  test('blocks, grows, forgives and refunds as a list of windows does', () => {
    const property = fc.property(quotas, acts, ({ max, forgive, ...plain }, calls) =>
      compare(plain.grow === 1 ? plain : { ...plain, max, forgive }, calls),
    )
    fc.assert(property, { numRuns: runsOf(750) })
  })

  test('lets a correct login that took the last unit be refunded: the block of wrong ones stays as it was', async () => {
    const key = keyOf(penalty(LOGIN))
    const takes = Array.from({ length: 5 }, () => key('consume', 1, 0))
    expect(key('consume', 1, 1).allowed).toBe(false)
    key('refund', 1, 2, { original: takes[1] as PenaltyTaken })
    expect(key('peek', 1, 3).allowed).toBe(true)
    key('consume', 1, 3)
    const denied = key('peek', 1, 4)
    expect([denied.allowed, denied.until - START]).toEqual([false, 15 * minute + 3])
  })

  test('allows fewer than twice its units in any time that is shorter than within and block, and so many it does', () => {
    const [after, within] = [6, 10_000]
    const most = (span: number): number => after * (Math.floor(span / within) + 2) - 2
    const history = fc.array(
      fc.record({
        after: fc.oneof(fc.nat(3_000), fc.constantFrom(0, 1, within - 1, within)),
        cost: fc.integer({ min: 1, max: after }),
      }),
      { maxLength: 40 },
    )
    const admitted = (calls: readonly { readonly after: number; readonly cost: number }[]) => {
      const key = keyOf(penalty({ after, within: within / 1_000, block: within / 1_000 }))
      let at = 0
      return calls.flatMap(({ after, cost }) => {
        at += after
        return key('consume', cost, at).allowed ? [{ at, cost }] : []
      })
    }
    const inSpans = (takes: ReturnType<typeof admitted>) =>
      takes.flatMap((first, i) =>
        takes.slice(i).map(({ at }, j) => ({
          span: at - first.at,
          units: takes.slice(i, i + j + 1).reduce((sum, { cost }) => sum + cost, 0),
        })),
      )
    fc.assert(
      fc.property(history, (calls) => {
        for (const { span, units } of inSpans(admitted(calls))) expect(units).toBeLessThanOrEqual(most(span))
      }),
    )
    const tight = [
      { after: 0, cost: 1 },
      { after: within - 1, cost: 4 },
      { after: 1, cost: 6 },
    ]
    expect(Math.max(...inSpans(admitted(tight)).map(({ span, units }) => (span === 1 ? units : 0)))).toBe(most(1))
  })

  test('grows no further than max, and stays there for any number of blocks', () => {
    const key = keyOf(penalty({ ...LOGIN, after: 1 }))
    const lengths: number[] = []
    let at = 0
    for (let i = 0; i < 60; i++) {
      const { until, now } = key('consume', 1, at)
      lengths.push((until - now) / minute)
      at += until - now
    }
    expect(lengths.slice(0, 8)).toEqual([15, 30, 60, 120, 240, 480, 960, 1440])
    expect(new Set(lengths.slice(8))).toEqual(new Set([1440]))
  })

  test('keeps a block when its quota changes: shorter, longer, more units, fewer units', () => {
    for (const changed of [{ after: 1 }, { after: 100 }, { block: '1s' }, { block: '1d' }, { within: '1s' }] as const) {
      let state: State | undefined
      const ask = (quota: Quota, at: number): PenaltyTaken => {
        const step = stepFor(quota, 'consume', 1)
        const outcome = runKernel(state, START + at, step)
        state = outcome.allowed ? outcome.taken : outcome.kept
        return takenOf(outcome, START + at, step, outcome.allowed) as PenaltyTaken
      }
      for (let i = 0; i < 5; i++) ask(penalty(LOGIN), 0)
      const later = penalty({ ...LOGIN, ...changed })
      expect(ask(later, 15 * minute - 1)).toMatchObject({ allowed: false, until: START + 15 * minute })
      expect(ask(later, 15 * minute).allowed).toBe(true)
    }
  })

  test('is divided among processes by its units', () => {
    expect(divideQuota(penalty(LOGIN), { replicas: 2 })).toEqual({ ...penalty(LOGIN), limit: 2 })
    expect(divideQuota(penalty(LOGIN), { replicas: 9 })).toMatchObject({ limit: 1 })
  })

  test.each([
    [{ afer: 5 }, 'penalty has no option "afer". Did you mean "after"?'],
    [{ after: 0 }, 'penalty after must be a whole number, 1 or more; got 0.'],
    [{ after: 1.5 }, 'penalty after must be a whole number, 1 or more; got 1.5.'],
    [{ after: 2e9 }, 'penalty after must be at most 1000000000; got 2000000000.'],
    [{ within: '0m' }, 'penalty within must be a positive duration'],
    [{ block: Number.NaN }, 'penalty block must be a positive duration'],
    [{ grow: 0.5 }, 'penalty grow must be a whole number, 1 or more; got 0.5.'],
    [{ grow: 1001 }, 'penalty grow must be at most 1000; got 1001.'],
    [{ max: undefined, forgive: undefined }, "penalty grow needs max, the longest block. Add max: '1d'."],
    [{ max: '1m' }, 'penalty max must be at least block, "15m"; got "1m". Use a longer max.'],
    [{ grow: 1 }, 'penalty max has no effect while all blocks are equal. Add grow: 2, or leave out max.'],
    [{ grow: 1, max: undefined }, 'penalty forgive has no effect while all blocks are equal.'],
    [{ extend: 'yes' }, 'penalty extend must be true or false; got "yes".'],
  ])('rejects %o', (changed, message) => {
    expect(() => penalty({ ...LOGIN, ...(changed as object) })).toThrow(message)
  })
})
