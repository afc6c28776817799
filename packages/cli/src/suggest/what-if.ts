import { type Micros, tokenBucket } from '@spillway/core'
import type { RulePolicy } from '@spillway/core/rules'
import { type Denied, deniedBy, lowestLimit, type Requests } from './tightest.ts'

/** A limit, and what it would have denied. */
export interface AtLimit extends Denied {
  readonly limit: number
}

/** What other limits of a policy would have denied, each in the policy's own window and with a burst of all its units. */
export interface WhatIf {
  readonly windowMs: number
  /** The lowest limit that would have denied no more than the share. */
  readonly suggested: AtLimit
  /** Limits from 1 up to the lowest that denies nothing, ascending; empty if they were not wanted. */
  readonly limits: readonly AtLimit[]
}

/** The number of limits that are tried. */
const STEPS = 24

/** Whether other limits can be tried: a token bucket whose requests cost one unit. */
export const hasWhatIf = ({ quota, cost, spill }: RulePolicy): boolean =>
  quota.kernel === 'bucket' &&
  quota.schedule === null &&
  quota.start === null &&
  quota.overdraft === 0 &&
  quota.immediateUnits === quota.limit &&
  (cost ?? 1) === 1 &&
  spill === undefined

/** Tries limits on the requests of a policy, of which at most `most` may be denied; with `ladder` many of them. */
export function whatIf(requests: Requests, window: Micros, most: number, ladder: boolean): WhatIf {
  const quotaOf = (limit: number) => tokenBucket({ limit, per: window / 1000 })
  const at = (limit: number): AtLimit => ({ limit, ...deniedBy(requests, quotaOf(limit), Infinity) })
  return {
    windowMs: window / 1000,
    suggested: at(lowestLimit(requests, quotaOf, most)),
    limits: ladder ? steps(lowestLimit(requests, quotaOf, 0)).map(at) : [],
  }
}

/** Whole numbers from 1 to `top`, in equal ratios. */
function steps(top: number): readonly number[] {
  const ratios = Array.from({ length: STEPS }, (_, i) => Math.round(top ** (i / (STEPS - 1))))
  return [...new Set(ratios)]
}
