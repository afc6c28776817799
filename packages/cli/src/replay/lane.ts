import type { Micros } from '@spillway/core'
import { costReader, keyReader, matcher, type RequestParts, type RequestSources } from '@spillway/core/http'
import { areTiers, type Policy, type PolicyCheck, policyOf, SYNC_CALLS } from '@spillway/core/internal'
import type { RulePolicy } from '@spillway/core/rules'
import type { MemoryStore } from '@spillway/memory'
import type { Entry } from '../log/entry.ts'
import { Spool } from '../suggest/spool.ts'
import { hasWhatIf } from '../suggest/what-if.ts'
import { Breakdown } from './breakdown.ts'
import { Flights } from './flights.ts'
import type { Tally } from './tally.ts'

/** A compiled policy of a plan, and its counts. */
export interface Lane {
  readonly policy: RulePolicy
  readonly tally: Tally
  readonly breakdown: Breakdown
  /** The policy's requests, to try other limits on; undefined if none can be tried. */
  spool: Spool | undefined
  /** When the policy's requests were in flight; undefined if it is not wanted. */
  readonly flights: Flights | undefined
  readonly counts: { requests: number; denied: number; longestDelayMs: number; delayed: number; keyless: number }
}

/** The most requests of a policy for which other limits are tried: each limit replays all of them. */
const MOST_FOR_LIMITS = 250_000

/** A policy as the guard compiles it. */
export interface Compiled extends Lane {
  /** The policy in the store. */
  readonly stored: Policy
  readonly shadow: boolean
  readonly applies: ((parts: RequestParts<Entry>) => boolean) | undefined
  readonly keyOf: (parts: RequestParts<Entry>) => string | undefined
  readonly costOf: (parts: RequestParts<Entry>) => number
}

/** A request that a policy counts. */
export interface LaneCheck extends PolicyCheck {
  readonly lane: Compiled
  /** The number of the key in the lane's tally. */
  readonly number: number
  /** Whether the status of the response does not count. */
  readonly isRefunded: boolean
  readonly spill?: LaneCheck
}

/** How checks are sent to a store that answers in the same tick, and never fails. */
const inMemory = (store: MemoryStore): Policy['storeConfig'] => ({
  store,
  calls: SYNC_CALLS,
  deadline: 0,
  onStoreError: 'throw',
  replicas: 1,
  logger: console,
  thresholds: undefined,
})

/** Compiles a policy like the guard. */
export function compile(
  policy: RulePolicy,
  sources: RequestSources<Entry>,
  store: MemoryStore,
  tally: Tally,
  tryLimits: boolean,
): Compiled {
  return {
    policy,
    tally,
    breakdown: new Breakdown(),
    spool: tryLimits && hasWhatIf(policy) ? new Spool() : undefined,
    flights: tryLimits ? new Flights() : undefined,
    counts: { requests: 0, denied: 0, longestDelayMs: 0, delayed: 0, keyless: 0 },
    stored: policyOf(policy.name, policy.quota, inMemory(store)),
    shadow: policy.mode === 'shadow',
    // Only functions can return promises, and rules have none.
    applies: matcher('match', policy.match, sources) as Compiled['applies'],
    keyOf: keyReader(policy.key, sources) as Compiled['keyOf'],
    costOf: costReader(policy, sources) as Compiled['costOf'],
  }
}

/** The policies that apply to an entry: of tiers, the first. */
export function applyingTo(lanes: readonly Compiled[], parts: RequestParts<Entry>): readonly Compiled[] {
  const applying: Compiled[] = []
  for (const lane of lanes) {
    if (applying.some(({ policy }) => areTiers(policy, lane.policy))) continue
    if (lane.applies === undefined || lane.applies(parts)) applying.push(lane)
  }
  return applying
}

/** The check of a policy that applies to an entry; undefined if the policy has no key for it. */
export function checkOf(lane: Compiled, parts: RequestParts<Entry>): LaneCheck | undefined {
  const key = lane.keyOf(parts)
  if (key === undefined) return undefined
  if (key === '') lane.counts.keyless++
  const { countIf } = lane.policy
  const { status } = parts.request
  const isRefunded = countIf !== undefined && status !== undefined && !countIf.includes(status)
  return { policy: lane.stored, key, cost: lane.costOf(parts), lane, number: lane.tally.of(key), isRefunded }
}

/** Keeps a request to try other limits on, unless there are too many. */
export function keepForLimits(lane: Lane, key: string, at: Micros): void {
  const { spool } = lane
  if (spool === undefined) return
  spool.add(key, at)
  if (spool.size <= MOST_FOR_LIMITS) return
  spool.close()
  lane.spool = undefined
}
