import type { Decision } from '../../decisions/decision.ts'
import type { Acquisition } from '../../policies/policy.ts'
import type { ShownNames } from '../headers/display-names.ts'
import { type HeaderItem, renamedItem } from '../headers/header-item.ts'
import { type Header, seconds } from '../headers/headers.ts'
import { limitItem } from '../headers/limit-item.ts'
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

/** When a denied client may try again, in whole seconds. */
export const retryAfter = ({ retryAfterMs }: Decision): readonly Header[] =>
  retryAfterMs > 0 && retryAfterMs < Infinity ? [['Retry-After', String(seconds(retryAfterMs))]] : []

/** What headers have of a policy, under the name that is free on this request. */
export function itemOf({ name, item }: HttpCheck['policy'], names: ShownNames | undefined): HeaderItem {
  const shown = names?.get(name)
  return shown === undefined ? item : renamedItem(item, name, shown)
}
