import type { Quota } from '../algorithms/quota-types.ts'

/** Names a part of the request that a rule counts by. */
export type RuleKey =
  | 'ip'
  | 'method'
  | 'path'
  | `header:${string}`
  | `query:${string}`
  | `cookie:${string}`
  | `claim:${string}`

/** Conditions for the requests that a rule applies to. All conditions must hold; of a list, one value. */
export interface RuleMatch {
  /** One of these methods; `GET` includes `HEAD`. */
  readonly method?: string | readonly string[]
  /** One of these patterns, such as `/login`, `/users/:id` and `/api/*`. */
  readonly path?: string | readonly string[]
  /** Required values of headers; `true` for any value. */
  readonly header?: Readonly<Record<string, string | true>>
  /** Required values of verified claims. */
  readonly claim?: Readonly<Record<string, string | number | boolean>>
}

/** A rule, as a policy for `rateLimit`. */
export interface RulePolicy {
  /** The policy's name in headers and in the store. */
  readonly name: string
  /** The units per period. */
  readonly quota: Quota
  /** The parts of a request that identify its client. */
  readonly key: RuleKey | readonly RuleKey[]
  /**
   * The units that a request consumes, or the part of the request that holds their number.
   * @default `1`
   */
  readonly cost?: number | `header:${string}` | `query:${string}`
  /**
   * The cost if the selected part is missing or invalid.
   * @default `1`
   */
  readonly defaultCost?: number
  /**
   * The most units one request can cost.
   * @default `Number.MAX_SAFE_INTEGER`
   */
  readonly maxCost?: number
  /**
   * The requests that the policy applies to: by conditions, or by a list of these, of which one must hold.
   * @default all requests
   */
  readonly match?: RuleMatch | readonly RuleMatch[]
  /**
   * `'shadow'` counts and reports, but never denies.
   * @default `'enforce'`
   */
  readonly mode?: 'enforce' | 'shadow'
  /**
   * The response statuses that count: units of requests with others are refunded.
   * @default all statuses
   */
  readonly countIf?: readonly number[]
  /**
   * Whether keys can be blocked by hand.
   * @default `false`
   */
  readonly blocks?: boolean
  /** The name of the policy that is drawn upon only if this one is empty. */
  readonly spill?: string
  /** The name of a group of tiers, of which a request has one: the first whose `match` holds. */
  readonly tiers?: string
}
