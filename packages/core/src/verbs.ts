import { QuotaError, shown } from './errors.ts'
import { type BucketStep, type BucketTaken, tickOf } from './kernels/bucket.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import type { SlidingWindowTaken } from './kernels/sliding-window.ts'
import type { BucketQuota, Quota } from './quota.ts'
import { LONGEST, type Micros } from './time.ts'

/** What can be done with a quota; each is the same kernel step with other arguments. */
export type Verb = 'consume' | 'peek' | 'refund' | 'charge'

/** What a verb may be told besides its cost. */
export interface Terms {
  /** How long the units may be waited for: buckets only. None, unless given; in a queue, until its end. */
  readonly patience?: Micros
  /**
   * The take that is refunded, so that no more is returned than time has not given back and no later booking stands on.
   * A take is refunded once.
   */
  readonly of?: Taken
  /** Consumes nothing of an overdraft. */
  readonly prepaid?: boolean
}

/** Reduces a verb to a kernel step. `cost` is in units. */
export function stepFor(quota: BucketQuota, verb: Verb, cost: number, terms?: Terms): BucketStep
/** Reduces a verb to a kernel step of whatever kernel the quota is for. `cost` is in units. */
export function stepFor(quota: Quota, verb: Verb, cost: number, terms?: Terms): Step
export function stepFor(quota: Quota, verb: Verb, cost: number, terms: Terms = {}): Step {
  const taking = verb === 'consume' || verb === 'peek'
  const peek = verb === 'peek'
  const increment = verb === 'refund' ? -cost : cost
  switch (quota.kernel) {
    case 'bucket': {
      const { unit, grain, limit } = quota
      const overdraft = overdraftFor(quota, terms)
      const { until, ends, whole } = refundOf(quota, increment, terms.of as BucketTaken | undefined)
      return {
        kernel: 'bucket',
        increment: increment * unit,
        check: taking ? Math.max(cost - overdraft, 0) * unit : 0,
        tolerance: taking ? roomOf(quota, terms.patience) : LONGEST,
        ceiling: (limit + quota.overdraft) * unit,
        burst: quota.prompt * unit,
        patience: patienceFor(quota, cost, terms),
        until,
        ends,
        whole,
        grain,
        start: quota.start,
        peek,
      }
    }
    case 'sliding-window': {
      const { limit, tick } = quota
      const ticks = quota.window / tick
      const most = Math.floor(Number.MAX_SAFE_INTEGER / ticks)
      return {
        kernel: 'sliding-window',
        increment,
        check: taking ? cost : -2 * most,
        limit,
        ticks,
        tick,
        fixed: quota.fixed,
        most,
        since: (terms.of as SlidingWindowTaken | undefined)?.start ?? 0,
        peek,
      }
    }
    case 'sliding-log': {
      const { limit, window } = quota
      const since = terms.of?.now ?? 0
      return { kernel: 'sliding-log', increment, check: taking ? cost : -LONGEST, limit, window, since, peek }
    }
  }
}

/** What a request may owe. */
const overdraftFor = (quota: BucketQuota, { prepaid = false }: Terms): number => (prepaid ? 0 : quota.overdraft)

/** In a queue, patience is in the room. And no patience is long enough for what never fits at once. */
const patienceFor = (quota: BucketQuota, cost: number, { patience = 0 }: Terms): Micros =>
  quota.prompt < quota.limit || cost > mostOf(quota) ? 0 : patience

const NO_TAKE: Pick<BucketStep, 'until' | 'ends' | 'whole'> = { until: Number.MAX_SAFE_INTEGER, ends: 0, whole: false }

/** Which take a refund is of, and how much of it. */
function refundOf(
  { prompt, unit, grain }: BucketQuota,
  increment: number,
  of: BucketTaken | undefined,
): Pick<BucketStep, 'until' | 'ends' | 'whole'> {
  if (of === undefined) return NO_TAKE
  const { now, base, tat, gross } = of
  const [ticks, burst] = [tat - base, prompt * unit]
  const turn = Math.max(tickOf(now, grain), tat - burst)
  return { until: gross, ends: turn + Math.min(ticks, burst), whole: ticks === -increment * unit }
}

/** How far ahead a turn may be. Patience goes beyond a bucket, but a queue is as long as it is, or cut to patience. */
const roomOf = ({ limit, prompt, unit }: BucketQuota, patience: Micros | undefined): Micros =>
  patience === undefined ? limit * unit : Math.min(prompt * unit + patience, limit * unit)

/** The most units one request can ever take. */
export const mostOf = (quota: Quota): number =>
  quota.kernel === 'bucket' ? quota.limit + quota.overdraft : quota.limit

/** Checks what a request is said to cost: whole units, at least one, never text that looks like a number. */
export function checkCost(cost: unknown, quota: Quota, verb: Verb): number {
  if (typeof cost !== 'number' || !Number.isSafeInteger(cost) || cost < 1) {
    throw new QuotaError('ERR_SPILLWAY_COST', `cost must be a whole number of units, 1 or more; got ${shown(cost)}.`)
  }
  if ((verb === 'refund' || verb === 'charge') && cost > mostCharged(quota)) {
    throw new QuotaError(
      'ERR_SPILLWAY_COST',
      `cost ${cost} is too large to be counted: use at most ${mostCharged(quota)}, 95 years of this quota.`,
    )
  }
  return cost
}

/** The most units that can be given back or charged at once. */
export const mostCharged = (quota: Quota): number =>
  quota.kernel === 'bucket' ? Math.floor(LONGEST / unitMicros(quota)) : 2 ** 50

const unitMicros = ({ unit, grain }: BucketQuota): Micros => grain?.unit ?? unit

/** Checks a key: text that says whom we count. An empty one is a lost identity, which would count all as one. */
export function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw new QuotaError(
    'ERR_SPILLWAY_KEY',
    `key must be a non-empty string that says whom to count, such as a user id or an address; got ${shown(key)}.`,
  )
}
