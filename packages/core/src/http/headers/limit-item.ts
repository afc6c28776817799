import type { Decision } from '../../decisions/decision.ts'
import type { HeaderItem } from './header-item.ts'
import { seconds } from './headers.ts'
import { integer } from './structured.ts'

/** One policy's decision about a request, with what headers report of it. */
export interface PolicyResult {
  readonly decision: Decision
  readonly item: HeaderItem
  /** The partition of its key as a parameter, `;pk=:AQ==:`; empty if there is none. */
  readonly pk: string
}

/** `"name";r=50;t=30`; `t` is omitted if the quota is full, or if no wait would help. */
export function limitItem(decision: Decision, item: HeaderItem, pk: string): string {
  const { allowed, remaining, retryAfterMs, replenishAfterMs } = decision
  const wait = seconds(allowed ? replenishAfterMs : retryAfterMs)
  const more = wait > 0 && wait < Infinity ? `;t=${integer(wait)}` : ''
  return item.rest + integer(remaining) + more + pk
}
