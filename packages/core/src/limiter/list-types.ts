import type { Decision } from '../algorithms/decision.ts'
import type { Duration } from '../common/time.ts'

/** Options of `list`. */
export interface ListOptions {
  /**
   * The name of the policy.
   * @default the only policy of the limiter
   */
  readonly policy?: string
  /**
   * How many keys are returned at most, 1 to 1,000.
   * @default `20`
   */
  readonly limit?: number
  /**
   * Whether only keys are returned that would be denied one unit now.
   * @default `false`
   */
  readonly limited?: boolean
  /**
   * Whether only keys are returned that are blocked, by a `penalty` or by hand.
   * @default `false`
   */
  readonly blocked?: boolean
  /**
   * How many states are examined at most. Beyond it, the list is that of the states examined so far.
   * @default `100_000`
   */
  readonly scan?: number
  /**
   * How long states are examined at most.
   * @default `'1s'`
   */
  readonly timeout?: Duration
}

/** A key that has used units of a policy. */
export interface ListedKey {
  /** The key; or its digest, if `isDigest`. */
  readonly key: string
  /**
   * Whether the store keeps a digest of the key: it is hashed, or too long to be stored. Verbs such as `reset` take the key,
   * and not its digest.
   */
  readonly isDigest: boolean
  /** The decision of the policy about one unit, which was not consumed. */
  readonly decision: Decision
  /**
   * Milliseconds until the end of the key's block, by a `penalty` or by hand; 0 if it is not blocked. Undefined if it is
   * not known: keys can be blocked by hand, and the store keeps a digest of this one.
   */
  readonly blockedMs: number | undefined
}

/** The keys that have used the most of a policy. */
export interface KeyList {
  /** The name of the policy. */
  readonly policy: string
  /**
   * Those that have used the most units first; of equal ones, those with the longest wait. Blocked keys: the longest
   * block first.
   */
  readonly keys: readonly ListedKey[]
  /** How many states were examined. */
  readonly scanned: number
  /** Whether all states were examined. If not, `scan` or `timeout` was reached. */
  readonly isComplete: boolean
}
