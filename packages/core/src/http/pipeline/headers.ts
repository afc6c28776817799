import type { Decision } from '../../decisions/decision.ts'
import type { Acquisition } from '../../policies/policy.ts'
import type { ShownNames } from '../headers/display-names.ts'
import { type HeaderItem, renamedItem } from '../headers/header-item.ts'
import { type Header, seconds } from '../headers/headers.ts'
import { limitItem, type PolicyResult } from '../headers/limit-item.ts'
import { checksOf } from './check.ts'
import type { HttpCheck } from './compiled.ts'

/** The headers of one policy, in the newest draft. */
export function plainHeaders(acquisition: Acquisition, names?: ShownNames): readonly Header[] {
  const { decision } = acquisition
  const { policy, pk } = checksOf(acquisition)[0] as HttpCheck
  const item = itemOf(policy, names)
  return [
    ['RateLimit-Policy', item.policy + pk],
    ['RateLimit', limitItem({ decision, item, pk })],
    ...retryAfter(decision),
  ]
}

/** The most characters of both fields: Node's `fetch` fails a response with 16 kB of headers, and many proxies with 8 kB. */
const LONGEST = 8_000

/** The headers of several policies, in the newest draft: of too many, those that deny, and those with the fewest units left. */
export function listedHeaders(acquisition: Acquisition, names?: ShownNames): readonly Header[] {
  const { decision } = acquisition
  const { policies = [decision] } = decision
  const results = checksOf(acquisition).map(({ policy, pk }, i) => ({
    decision: policies[i] ?? decision,
    item: itemOf(policy, names),
    pk,
  }))
  const listed = (some: readonly PolicyResult[]): readonly Header[] => [
    ['RateLimit-Policy', some.map(({ item, pk }) => item.policy + pk).join(', ')],
    ['RateLimit', some.map(limitItem).join(', ')],
  ]
  const isShort = (headers: readonly Header[]): boolean =>
    headers.reduce((sum, [, value]) => sum + value.length, 0) <= LONGEST
  let shown: readonly PolicyResult[] = results
  while (!isShort(listed(shown)) && shown.length > 1) {
    shown = [...shown].sort(byNeed).slice(0, Math.ceil(shown.length / 2))
  }
  return [...listed(shown), ...retryAfter(decision)]
}

/** Those that deny first, and then those with the fewest units remaining. */
export const byNeed = ({ decision: a }: PolicyResult, { decision: b }: PolicyResult): number =>
  Number(a.allowed) - Number(b.allowed) || a.remaining - b.remaining

const retryAfter = ({ retryAfterMs }: Decision): readonly Header[] =>
  retryAfterMs > 0 && retryAfterMs < Infinity ? [['Retry-After', String(seconds(retryAfterMs))]] : []

/** What headers have of a policy, under the name that is free on this request. */
export function itemOf({ name, item }: HttpCheck['policy'], names: ShownNames | undefined): HeaderItem {
  const shown = names?.get(name)
  return shown === undefined ? item : renamedItem(item, name, shown)
}
