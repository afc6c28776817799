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
  const headers: Header[] = [
    ['RateLimit-Policy', item.policy + pk],
    ['RateLimit', limitItem({ decision, item, pk })],
  ]
  const { retryAfterMs } = decision
  if (retryAfterMs > 0 && retryAfterMs < Infinity) headers.push(['Retry-After', String(seconds(retryAfterMs))])
  return headers
}

/** What headers have of a policy, under the name that is free on this request. */
export function itemOf({ name, item }: HttpCheck['policy'], names: ShownNames | undefined): HeaderItem {
  const shown = names?.get(name)
  return shown === undefined ? item : renamedItem(item, name, shown)
}
