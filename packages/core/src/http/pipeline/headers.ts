import type { Acquisition } from '../../policies/policy.ts'
import { seconds } from '../headers/answer-headers.ts'
import type { ShownNames } from '../headers/display-names.ts'
import { type HeaderItem, limitItem, renamedItem } from '../headers/header-item.ts'
import type { Header } from '../headers/headers.ts'
import type { HttpCheck } from './compiled.ts'

/** The headers of one policy, in the newest draft. */
export function plainHeaders(acquisition: Acquisition, names?: ShownNames): readonly Header[] {
  const { checks, decision } = acquisition
  const { policy, pk } = checks[0] as HttpCheck
  const item = names === undefined ? policy.item : itemOf(policy, names)
  const headers: Header[] = [
    pk === '' ? item.policy : [item.policy[0], item.policy[1] + pk],
    ['RateLimit', limitItem(decision, item, pk)],
  ]
  return decision.allowed ? headers : withRetryAfter(headers, decision.retryAfterMs)
}

/** Headers, and when a denied client may try again, in whole seconds, if a wait helps. */
export function withRetryAfter(headers: readonly Header[], waitMs: number): readonly Header[] {
  return waitMs > 0 && waitMs < Infinity ? [...headers, ['Retry-After', String(seconds(waitMs))]] : headers
}

/** What headers have of a policy, under the name that is free on this request. */
export function itemOf({ name, item }: HttpCheck['policy'], names: ShownNames | undefined): HeaderItem {
  const shown = names?.get(name)
  return shown === undefined ? item : renamedItem(item, name, shown)
}
