import type { Acquisition } from '../../policies/policy.ts'
import type { ShownNames } from '../headers/display-names.ts'
import type { Header } from '../headers/headers.ts'
import { limitItem, type PolicyResult } from '../headers/limit-item.ts'
import { checksOf } from './check.ts'
import { itemOf, retryAfter } from './headers.ts'

/** The most characters of all fields: Node's `fetch` fails a response with 16 kB of headers, and many proxies with 8 kB. */
const LONGEST = 8_000

/** The headers of several policies, in the newest draft. */
export function listedHeaders(acquisition: Acquisition, names?: ShownNames): readonly Header[] {
  const { decision } = acquisition
  const { policies = [decision] } = decision
  const results = checksOf(acquisition).map(({ policy, pk }, i) => ({
    decision: policies[i] ?? decision,
    item: itemOf(policy, names),
    pk,
  }))
  const listed = fitting(results, (some) => [
    ['RateLimit-Policy', some.map(({ item, pk }) => item.policy + pk).join(', ')],
    ['RateLimit', some.map(limitItem).join(', ')],
  ])
  return [...listed, ...retryAfter(decision)]
}

/** The headers of as many policies as fit: of too many, those that deny, and those with the fewest units left. */
export function fitting(
  results: readonly PolicyResult[],
  headersOf: (listed: readonly PolicyResult[]) => Header[],
): Header[] {
  let listed = results
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
