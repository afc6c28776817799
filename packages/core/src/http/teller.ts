import type { Booking } from '../booking.ts'
import { isCounted } from '../decide.ts'
import type { Decision } from '../decision.ts'
import { checkBoolean } from '../options.ts'
import type { Ask, Policy } from '../policy.ts'
import { type HeaderItem, renamedItem } from './fields.ts'
import { formsOf, type HeaderForm, headerWriter } from './forms.ts'
import { EXPOSE, type Header } from './headers.ts'
import { checkJitter, retryAfterSeconds } from './jitter.ts'
import type { ShownNames } from './shown-names.ts'

/** How clients are told what is left, and when to come back. */
export interface TellOptions {
  /**
   * Which rate limit header fields to send: one form, several, or `false` for none.
   * @default `'draft-11'`
   */
  readonly headers?: HeaderForm | readonly HeaderForm[] | false
  /**
   * Appends the names of these headers to `Access-Control-Expose-Headers`, so that scripts of other origins can read
   * them.
   * @default `false`
   */
  readonly exposeHeaders?: boolean
  /**
   * The fraction of the wait, 0 to 0.5, that `Retry-After` may add to spread retries. It is the same for the same
   * client.
   * @default `0`
   */
  readonly jitter?: number
}

/** The headers that tell a client of a booking. */
export type Teller = (booking: Booking, names?: ShownNames) => readonly Header[]

/** A policy, with what headers say of it whatever the request. */
export interface ToldPolicy extends Policy {
  readonly item: HeaderItem
}

/** A policy asked about one key, with the partition of that key as headers have it. */
export interface ToldAsk extends Ask {
  readonly policy: ToldPolicy
  readonly pk: string
  readonly spill?: ToldAsk
}

/** Builds a teller. */
export function tellerOf({ headers, jitter: share, exposeHeaders }: TellOptions): Teller {
  const write = headerWriter(formsOf(headers))
  const jitter = checkJitter(share)
  const exposes = checkBoolean('exposeHeaders', exposeHeaders)
  return ({ asks, decision }, names) => {
    const decisions = decision.policies ?? [decision]
    // Rules make no others.
    const told = (asks as readonly ToldAsk[]).map(({ policy: { name, item }, pk }, i) => {
      const shown = names?.get(name)
      return { decision: decisions[i] as Decision, item: shown ? renamedItem(item, name, shown) : item, pk }
    })
    // Without the store there are numbers only where this process counts by itself.
    const known = decision.degraded ? told.filter((each) => isCounted(each.decision)) : told
    const headers = write(known, Date.now)
    const all = decision.allowed ? headers : [...headers, ...retryAfter(asks, decision, jitter)]
    return exposes ? exposed(all) : all
  }
}

/** The headers, after the one that exposes them. */
const exposed = (headers: readonly Header[]): readonly Header[] =>
  headers.length === 0 ? headers : [[EXPOSE, headers.map(([name]) => name).join(', ')], ...headers]

// Nobody knows when the store answers again. It is tried as soon as this, or a little later.
const UNKNOWN_WAIT: readonly Header[] = [['Retry-After', '1']]

/** `Retry-After` (RFC 9110, section 10.2.3) of a refusal, where waiting helps. */
function retryAfter(asks: readonly Ask[], decision: Decision, jitter: number): readonly Header[] {
  const { retryAfterMs, policy, degraded } = decision
  if (degraded?.action === 'deny' && retryAfterMs === 0) return UNKNOWN_WAIT
  if (retryAfterMs === 0 || retryAfterMs === Infinity) return []
  const key = asks.find((ask) => ask.policy.name === policy)?.key ?? ''
  return [['Retry-After', String(retryAfterSeconds(decision, key, jitter))]]
}
