import { LONGEST } from '../../common/time.ts'
import { type Exact, exactly, latest, NOTHING, spanOf } from '../../kernels/fraction.ts'
import { slowdown, type WarmUpStep, type WarmUpTaken } from '../../kernels/warm-up.ts'
import type { WarmUpQuota } from '../quota-types.ts'
import type { StepOptions, Verb } from '../step-options.ts'
import { needsUnits } from '../verbs.ts'

/** Reduces a verb on a quota that warms up to a kernel step. */
export function warmUpStep(quota: WarmUpQuota, verb: Verb, cost: number, stepOptions: StepOptions): WarmUpStep {
  const { ticksPerUnit, scale, half, burst } = quota
  const needs = needsUnits(verb)
  const { maxWaitMicros = 0, prepaid = false, original } = stepOptions
  const units = spanOf(cost, ticksPerUnit, scale)
  const taken =
    verb === 'refund' && original !== undefined ? refundOfWarmUp(quota, units, original as WarmUpTaken) : NO_WARM_UP
  const increment = taken.increment ?? (verb === 'refund' ? { tick: -units.tick, early: 0 - units.early } : units)
  const paid = prepaid ? 1 : burst
  return {
    kernel: 'warm-up',
    increment: increment.tick,
    early: increment.early,
    scale,
    check: needs && cost > paid ? spanOf(cost - paid, ticksPerUnit, scale).tick : 0,
    // Nothing beyond the burst ever fits, however long the caller would wait.
    tolerance: !needs ? LONGEST : cost > burst ? 0 : Math.min(maxWaitMicros, LONGEST - 1),
    half,
    until: taken.until,
    untilEarly: taken.untilEarly,
    cold: taken.cold,
    peek: verb === 'peek',
  }
}

const NO_WARM_UP = { increment: undefined, until: Number.MAX_SAFE_INTEGER, untilEarly: 0, cold: 0 }

/** What the refund of a take restores: the state as if it had taken only the rest. */
function refundOfWarmUp({ scale, half }: WarmUpQuota, refunded: Exact, original: WarmUpTaken) {
  const { now, aheadBefore, earlyBefore, coldBefore, ahead, early, cold } = original
  const slower = slowdown(coldBefore, cold, half)
  // The units of the take that are not refunded, none if more is refunded than it took.
  const units = exactly(ahead - slower - aheadBefore, early - earlyBefore, scale)
  const left = latest(exactly(units.tick - refunded.tick, units.early - refunded.early, scale), NOTHING)
  const turn = exactly(aheadBefore + left.tick, earlyBefore + left.early, scale)
  const coldLeft = Math.max(coldBefore - (turn.tick - aheadBefore), 0)
  const kept = turn.tick + slowdown(coldBefore, coldLeft, half)
  const returned = exactly(ahead - kept, early - turn.early, scale)
  return {
    increment: { tick: -Math.max(returned.tick, 1), early: 0 - returned.early },
    until: now + ahead,
    untilEarly: early,
    cold: coldLeft,
  }
}
