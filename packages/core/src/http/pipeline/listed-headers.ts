import type { Decision } from '../../algorithms/decision.ts'
import { NONE } from '../../algorithms/decision-of.ts'
import { isCounted } from '../../algorithms/merge.ts'
import type { Acquisition } from '../../policies/policy.ts'
import type { ShownNames } from '../headers/display-names.ts'
import { limitItem, type PolicyResult } from '../headers/header-item.ts'
import type { Header } from '../headers/headers.ts'
import { checksOf } from './check.ts'
import { itemOf, withRetryAfter } from './headers.ts'

/** The most characters of all fields: Node's `fetch` fails a response with 16 kB of headers, and many proxies with 8 kB. */
const LONGEST = 8_000

/** The headers of several policies, in the newest draft. */
export function listedHeaders(acquisition: Acquisition, names?: ShownNames): readonly Header[] {
  const listed = fitting(resultsOf(acquisition, names), (some) => [
    ['RateLimit-Policy', some.map(({ item, pk }) => item.policy[1] + pk).join(', ')],
    ['RateLimit', some.map(({ decision, item, pk }) => limitItem(decision, item, pk)).join(', ')],
  ])
  return withRetryAfter(listed, waitMsOf(acquisition.decision))
}

/** How long a denied client waits. It is unknown when a store answers again: clients may retry after one second. */
export const waitMsOf = ({ retryAfterMs, degraded }: Decision): number =>
  degraded?.action === 'deny' && retryAfterMs === 0 ? 1000 : retryAfterMs

/** What headers report of an acquisition. While a store does not answer, only policies that this process counts have numbers. */
export function resultsOf(acquisition: Acquisition, names: ShownNames | undefined): readonly PolicyResult[] {
  const { decision } = acquisition
  const { policies = [decision] } = decision
  const results = checksOf(acquisition).map(({ policy, pk }, i) => ({
    decision: policies[i] as Decision,
    item: itemOf(policy, names),
    pk,
  }))
  return decision.degraded ? results.filter((each) => isCounted(each.decision)) : results
}

/** The headers of as many policies as fit: of too many, those that deny, and those with the fewest units left. */
export function fitting(
  results: readonly PolicyResult[],
  headersOf: (listed: readonly PolicyResult[]) => Header[],
): readonly Header[] {
  let listed = results
  if (listed.length === 0) return NONE
  for (;;) {
    const headers = headersOf(listed)
    const length = headers.reduce((sum, [, value]) => sum + value.length, 0)
    if (length <= LONGEST || listed.length === 1) return headers
    listed = [...listed].sort(byNeed).slice(0, Math.floor((listed.length * LONGEST) / length) || 1)
  }
}

/** Those that deny first, and then those with the fewest units remaining. */
const byNeed = ({ decision: a }: PolicyResult, { decision: b }: PolicyResult): number =>
  Number(a.allowed) - Number(b.allowed) || a.remaining - b.remaining
