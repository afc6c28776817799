import type { Decision } from '../../algorithms/decision.ts'
import { isBlockList } from '../../algorithms/penalty/block-list.ts'
import type { Quota } from '../../algorithms/quota-types.ts'
import { invalidOption } from '../../common/errors.ts'
import type { Header } from './plain-join.ts'
import { integer, MOST_INTEGER, quoted } from './structured.ts'

/** The quota units that the drafts define. */
export type QuotaUnit = 'requests' | 'content-bytes' | 'concurrent-requests'

/** The option for the unit of a quota, as drafts 8 to 11 report it. */
export interface UnitOptions {
  /**
   * The quota unit that headers report (`qu`).
   * @default `'requests'`
   */
  readonly unit?: QuotaUnit
}

/** A quota and the name that headers report, which is printable ASCII. */
export interface NamedQuota extends UnitOptions {
  readonly name: string
  readonly quota: Quota
}

/** The parts of a policy's headers that are the same for every request, formatted once. */
export interface HeaderItem {
  /** `RateLimit-Policy` of drafts 8 to 11, without a partition: `"name";q=100;w=60`. */
  readonly policy: Header
  /** `"name";r=`: the start of its item in their `RateLimit`. */
  readonly rest: string
  /** `100;w=60`: what drafts 6 and 7 list in `RateLimit-Policy`. */
  readonly numbers: string
  readonly limit: number
}

const UNITS: readonly unknown[] = ['requests', 'content-bytes', 'concurrent-requests', undefined]

/** Throws a QuotaError for a unit that the drafts do not define. */
export function checkUnit(unit: unknown): void {
  if (UNITS.includes(unit)) return
  throw invalidOption("unit must be 'requests', 'content-bytes' or 'concurrent-requests'", unit)
}

/** A policy's item with another name in it. */
export function renamedItem({ policy, rest, ...item }: HeaderItem, name: string, headerName: string): HeaderItem {
  const renamed = (text: string): string => quoted(headerName) + text.slice(quoted(name).length)
  return { ...item, policy: [policy[0], renamed(policy[1])], rest: renamed(rest) }
}

/** Formats the parts of a policy's headers that are the same for every request. */
export function headerItem({ name, quota, unit }: NamedQuota): HeaderItem {
  const { limit, window } = advertised(quota)
  const qu = unit === undefined ? '' : `;qu=${quoted(unit)}`
  return {
    policy: ['RateLimit-Policy', `${quoted(name)};q=${limit};w=${window}${qu}`],
    rest: `${quoted(name)};r=`,
    numbers: `${limit};w=${window}`,
    limit,
  }
}

/** The largest loss of rate from rounding a window up to whole seconds, if the limit is the burst. */
const TOLERATED_LOSS = 0.1
/** How many longer windows are tried, in seconds. */
const LONGEST_SEARCH = 3_600

/**
 * A quota as units per whole seconds. These are the burst and the time in which it refills, rounded up. If that
 * advertised less than nine tenths of the sustained rate, they are the rate, in the shortest window that expresses it:
 * `perSecond(100, { burst: 1 })` is 100 in 1 second, not 1. A block list is reported only to blocked clients: 0 units.
 */
export function advertised(quota: Quota): { readonly limit: number; readonly window: number } {
  if (isBlockList(quota)) return { limit: 0, window: 1 }
  const { limit, window } = quota
  const continuous = quota.kernel === 'warm-up' || (quota.kernel === 'bucket' && quota.schedule === null)
  const unit = continuous ? quota.ticksPerUnit / quota.scale : window / limit
  const least = Math.max(Math.ceil(window / 1e6), 1)
  if (limit === 0 || limit * unit >= (1 - TOLERATED_LOSS) * least * 1e6)
    return { limit: integer(limit), window: integer(least) }
  // `unit` is a rounded quotient: without the addition, 3 times a third of a second could be less than 1 second.
  const unitsIn = (seconds: number): number => Math.floor((seconds * 1e6) / unit + 1e-6)
  const loss = (seconds: number): number => 1 - (unitsIn(seconds) * unit) / (seconds * 1e6)
  let best = least
  for (let each = least; each < least + LONGEST_SEARCH && loss(best) >= 0.001; each++) {
    if (loss(each) < loss(best)) best = each
  }
  return { limit: integer(unitsIn(best)), window: integer(best) }
}

/** One policy's decision about a request, with what headers report of it. */
export interface PolicyResult {
  readonly decision: Decision
  readonly item: HeaderItem
  /** The partition of its key as a parameter, `;pk=:AQ==:`; empty if there is none. */
  readonly pk: string
}

/** `"name";r=50;t=30`; `t` is omitted if the quota is full, or if no wait would help. */
export function limitItem(decision: Decision, item: HeaderItem, pk: string): string {
  const { allowed, remaining, retryAfterMs, replenishAfterMs } = decision
  const wait = Math.ceil((allowed ? replenishAfterMs : retryAfterMs) / 1000)
  const more = wait > 0 && wait < Infinity ? `;t=${Math.min(wait, MOST_INTEGER)}` : ''
  return item.rest + Math.min(remaining, MOST_INTEGER) + more + pk
}
