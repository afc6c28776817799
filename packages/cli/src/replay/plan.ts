import type { Decision, Micros, Taken } from '@spillway/core'
import { RequestParts, type RequestSources, spilling } from '@spillway/core/http'
import { stepFor } from '@spillway/core/internal'
import type { RulePolicy } from '@spillway/core/rules'
import { type MemoryStore, memoryStore } from '@spillway/memory'
import { type Entry, entryReader } from '../log/entry.ts'
import { keyText } from './key-text.ts'
import { applyingTo, type Compiled, checkOf, compile, keepForLimits, type Lane, type PolicyCheck } from './lane.ts'
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
  const store = memoryStore({ maxKeys })
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

  const record = (
    { lane, key, number, step: { cost } }: PolicyCheck,
    decision: Decision,
    entry: Entry,
    at: Micros,
  ): void => {
    const { counts, tally, policy } = lane
    keepForLimits(lane, key, at)
    counts.requests++
    tally.record(number, at, decision)
    if (decision.delayMs > 0) {
      counts.delayed++
      counts.longestDelayMs = Math.max(counts.longestDelayMs, decision.delayMs)
    }
    if (decision.allowed) return
    counts.denied++
    lane.breakdown.add(entry, at)
    onDenial?.({
      plan: name,
      file,
      line,
      at,
      policy: policy.name,
      key: keyText(policy.key, key),
      cost,
      retryAfterMs: decision.retryAfterMs,
    })
  }
  const refund = ({ lane: { policy }, key, step, isRefunded }: PolicyCheck, original: Taken, at: Micros): void => {
    if (!isRefunded) return
    const back = stepFor(policy.quota, 'refund', step.cost, { original })
    store.takeSync([{ policy: policy.name, key, step: back }], at)
  }
  const takeAlone = (check: PolicyCheck, entry: Entry, at: Micros): boolean => {
    const { step, key } = check
    const taken = step.take.take(key, at)
    record(check, step.decide(taken), entry, at)
    if (taken.allowed) refund(check, taken, at)
    return taken.allowed
  }
  type Emptied = readonly (readonly [PolicyCheck, Decision])[]
  const takeAll = (checks: readonly PolicyCheck[], entry: Entry, at: Micros, emptied: Emptied = []): boolean => {
    const allowed = checks.map(({ step, key }) => step.take.look(key, at)).every((fits) => fits)
    const taken = checks.map(({ step }) => step.take.commit(allowed))
    // The next round may overwrite what was taken.
    const decided = checks.map((check, i) => [check, check.step.decide(taken[i] as Taken)] as const)
    const next = decided.map(([check, decision]) => (decision.allowed ? check : check.spill))
    if (!allowed && next.every((check) => check !== undefined)) {
      return takeAll(next, entry, at, [...emptied, ...decided.filter(([, each]) => !each.allowed)])
    }
    // Only the policy whose units are consumed records an allowed request.
    for (const [check, decision] of allowed ? decided : [...emptied, ...decided]) {
      record(check, decision, entry, at)
    }
    if (allowed) for (const [i, check] of checks.entries()) refund(check, taken[i] as Taken, at)
    return allowed
  }
  const checksFor = (entry: Entry, at: Micros): readonly PolicyCheck[] => {
    const parts = new RequestParts(entry)
    const applying = applyingTo(lanes, parts)
    const checks: (PolicyCheck | undefined)[] = []
    for (const lane of lanes) {
      const check = applying.includes(lane) ? checkOf(lane, parts) : undefined
      // A shadow policy denies nothing, and consumes independently of the other policies.
      if (check && lane.shadow) takeAlone(check, entry, at)
      checks.push(lane.shadow ? undefined : check)
    }
    return spilling(checks, targets)
  }
  /** Whether an entry is allowed; undefined if no policy counts it. */
  const takeAny = (entry: Entry, at: Micros): boolean | undefined => {
    const checks = checksFor(entry, at)
    const [first] = checks
    if (first === undefined) return undefined
    return checks.length === 1 && !first.spill ? takeAlone(first, entry, at) : takeAll(checks, entry, at)
  }
  /** The same by one policy, the usual case, without lists. */
  const takeBy = (lane: Compiled, entry: Entry, at: Micros): boolean | undefined => {
    const parts = new RequestParts(entry)
    const check = lane.applies?.(parts) === false ? undefined : checkOf(lane, parts)
    const allowed = check && takeAlone(check, entry, at)
    return lane.shadow ? undefined : allowed
  }
  const [only] = lanes.length === 1 ? lanes : []

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
      const allowed = only ? takeBy(only, entry, at) : takeAny(entry, at)
      if (allowed === undefined) {
        counts.uncounted++
        return
      }
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
