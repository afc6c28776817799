import type { Decision, Micros } from '@spillway/core'
import { RequestParts, type RequestSources, spilling } from '@spillway/core/http'
import { type Acquisition, acquire, settle } from '@spillway/core/internal'
import type { RulePolicy } from '@spillway/core/rules'
import { type MemoryStore, memoryStore } from '@spillway/memory'
import { type Entry, entryReader } from '../log/entry.ts'
import { keyText } from './key-text.ts'
import { applyingTo, type Compiled, checkOf, compile, keepForLimits, type Lane, type LaneCheck } from './lane.ts'
import { Tally } from './tally.ts'
import { sum, Timeline } from './timeline.ts'

/** Policies that are enforced together, replayed on one log. */
export interface Plan {
  readonly name: string
  readonly lanes: readonly Lane[]
  readonly store: MemoryStore
  readonly timeline: Timeline
  readonly allowed: { readonly values: Float64Array }
  readonly denied: { readonly values: Float64Array }
  /** The requests that a policy counted, those that were denied, and those that no policy applied to. */
  readonly counts: { counted: number; denied: number; uncounted: number }
  replay(entry: Entry, at: Micros, line: number, file: string): void
}

/** A request that would have been denied. */
export interface DenialEvent {
  readonly plan: string
  readonly file: string
  readonly line: number
  readonly at: Micros
  readonly policy: string
  readonly key: string
  readonly cost: number
  readonly retryAfterMs: number
}

export interface PlanOptions {
  /** The most keys in the store of a policy. */
  readonly maxKeys?: number
  /**
   * The leading bits of an IPv6 address that identify one client.
   * @default 56
   */
  readonly ipv6Prefix?: number
  /** Keys whose remaining units are followed from the start. */
  readonly follow?: readonly string[]
  /**
   * The client's address.
   * @default the first one in the log
   */
  readonly address?: (entry: Entry) => string | undefined
  readonly onDenial?: (event: DenialEvent) => void
  /** Whether requests are kept, to try other limits on them. */
  readonly tryLimits?: boolean
}

export function planOf(name: string, policies: readonly RulePolicy[], options: PlanOptions = {}): Plan {
  const { maxKeys = 1_000_000, follow, onDenial, tryLimits = false } = options
  // The time of the entry that is replayed.
  let now = 0
  const store = memoryStore({ maxKeys, clock: () => now })
  const timeline = new Timeline()
  const series = { allowed: timeline.series(sum, 0), denied: timeline.series(sum, 0) }
  const counts = { counted: 0, denied: 0, uncounted: 0 }
  const sources = sourcesFor(policies, options)
  const lanes = policies.map((policy) =>
    compile(policy, sources, store, new Tally(follow, (key) => keyText(policy.key, key)), tryLimits),
  )
  const targets = policies.map(({ spill }) => policies.findIndex((other) => other.name === spill))

  // Where the entry is that is replayed, for its denials.
  let line = 0
  let file = ''

  const record = ({ lane, key, number, cost }: LaneCheck, decision: Decision, entry: Entry): void => {
    const { counts, tally, policy } = lane
    keepForLimits(lane, key, now)
    lane.flights?.add(key, entry)
    counts.requests++
    tally.record(number, now, decision)
    if (decision.delayMs > 0) {
      counts.delayed++
      counts.longestDelayMs = Math.max(counts.longestDelayMs, decision.delayMs)
    }
    if (decision.allowed) return
    counts.denied++
    lane.breakdown.add(entry, now)
    onDenial?.({
      plan: name,
      file,
      line,
      at: now,
      policy: policy.name,
      key: keyText(policy.key, key),
      cost,
      retryAfterMs: decision.retryAfterMs,
    })
  }
  /** Consumes the units of checks, records their decisions, and refunds what does not count. */
  const take = (checks: readonly LaneCheck[], entry: Entry): boolean => {
    // The store answers in the same tick.
    const acquisition = acquire('consume', checks) as Acquisition
    const { decision } = acquisition
    const decided = acquisition.checks as readonly LaneCheck[]
    let isRefunded = false
    for (let i = 0; i < decided.length; i++) {
      const check = decided[i] as LaneCheck
      record(check, decision.policies?.[i] ?? decision, entry)
      isRefunded ||= check.isRefunded
    }
    if (decision.allowed && isRefunded) {
      void settle(acquisition, (check) => ((check as LaneCheck).isRefunded ? 0 : check.cost))
    }
    return decision.allowed
  }
  const checksFor = (entry: Entry): readonly LaneCheck[] => {
    const parts = new RequestParts(entry)
    const applying = applyingTo(lanes, parts)
    const checks = lanes.map((lane) => (applying.includes(lane) ? checkOf(lane, parts) : undefined))
    // A shadow policy denies nothing, and consumes independently of the other policies.
    for (const check of checks) if (check?.lane.shadow) take([check], entry)
    return spilling(
      checks.map((check) => (check?.lane.shadow ? undefined : check)),
      targets,
    )
  }
  /** The same of one policy, the usual case. */
  const checkBy = (lane: Compiled, entry: Entry): readonly LaneCheck[] => {
    const parts = new RequestParts(entry)
    const check = lane.applies?.(parts) === false ? undefined : checkOf(lane, parts)
    return check ? [check] : []
  }
  const [only] = lanes.length === 1 && !lanes[0]?.shadow ? lanes : []

  return {
    name,
    lanes,
    store,
    timeline,
    ...series,
    counts,
    replay(entry, at, ofLine, ofFile) {
      line = ofLine
      file = ofFile
      const part = timeline.at(at)
      now = at
      const checks = only ? checkBy(only, entry) : checksFor(entry)
      if (checks.length === 0) {
        counts.uncounted++
        return
      }
      const allowed = take(checks, entry)
      const { values } = allowed ? series.allowed : series.denied
      values[part] = (values[part] as number) + 1
      counts.counted++
      if (!allowed) counts.denied++
    },
  }
}

/** The source from which policies read; of their claims, those in the log. */
export function sourcesFor(
  policies: readonly RulePolicy[],
  { address = (entry) => entry.address, ipv6Prefix = 56 }: PlanOptions,
): RequestSources<Entry> {
  const names = policies.flatMap(({ key, match }) => [
    ...[key].flat().flatMap((each) => (each.startsWith('claim:') ? [each.slice('claim:'.length)] : [])),
    ...[match ?? []].flat().flatMap(({ claim = {} }) => Object.keys(claim)),
  ])
  const claims = (entry: Entry) => Object.fromEntries(names.map((name) => [name, entry.claim(name)]))
  return {
    reader: entryReader,
    address,
    claims,
    parameters: new Set(),
    cookies: new Set(),
    ipv6Prefix,
    logger: console,
  }
}
