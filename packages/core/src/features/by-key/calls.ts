import type { Decision } from '../../algorithms/decision.ts'
import type { Quota } from '../../algorithms/quota-types.ts'
import type { Duration } from '../../common/time.ts'
import type { CompiledPolicy, HttpPolicy } from '../../http/pipeline/compiled.ts'
import type { Inspection } from '../../limiter/inspect.ts'
import type { KeyList, ListOptions } from '../../limiter/list-types.ts'

/** Which policy a call by key is for. */
export interface ByKeyOptions<Name extends string = string> {
  /**
   * The policy. A shadow policy, a tier, and one of several policies with different keys must be named.
   * @default all enforced policies
   */
  readonly policy?: Name
  /**
   * The quota of this key, if a function chooses the policy's quota by request.
   * @default the policy's quota
   */
  readonly quota?: Quota
}

/** A key, as text that its selector reads: `'2001:db8::1'` for `'ip'`. A list has a text for each selector. */
export type KeyText = string | readonly string[]

/** Reads and changes the counts of a key outside of requests, such as in an admin page. */
export interface ByKey<Name extends string = string> {
  /** The decision about a request of this key that costs one unit, without counting it. */
  peek(key: KeyText, options?: ByKeyOptions<Name>): Promise<Decision<Name | `${Name} (blocked)`>>
  /** Consumes `units` (default: 1), even if they are not available: later requests wait for the debt. */
  charge(key: KeyText, units?: number, options?: ByKeyOptions<Name>): Promise<Decision<Name>>
  /** Refunds `units` (default: 1), until the quota is full. */
  refund(key: KeyText, units?: number, options?: ByKeyOptions<Name>): Promise<Decision<Name>>
  /** Reports what the store keeps about a key, for each policy. */
  inspect(key: KeyText, options?: ByKeyOptions<Name>): Promise<readonly Inspection[]>
  /** Lists the keys that have used the most of a policy. The policy must be named if there are several. */
  list(options?: ListOptions & ByKeyOptions<Name>): Promise<KeyList>
  /** Resets all keys, of one policy if it is named, and resolves with the number of states deleted. */
  resetAll(policy?: Name): Promise<number>
  /** Resets a key, which becomes new. Resolves with whether any policy had a state of it. */
  reset(key: KeyText, options?: Pick<ByKeyOptions<Name>, 'policy'>): Promise<boolean>
  /**
   * Denies requests of this key for `duration` from now, or until the end of its block if that is later. The policy must
   * have `blocks: true` or a `penalty`.
   */
  block(key: KeyText, duration: Duration, options?: ByKeyOptions<Name>): Promise<void>
  /** Ends the block of a key, as if it had never started. */
  unblock(key: KeyText, options?: ByKeyOptions<Name>): Promise<void>
}

/** A policy whose counts are read and changed by key. */
export interface KeyedPolicy<R, S> extends CompiledPolicy<R, S> {
  /** The policy with a quota. Throws a QuotaError for any other value. */
  readonly withQuota: (quota: unknown) => HttpPolicy
  /** The key of the texts of its parts. */
  readonly keyText: (key: unknown) => string
}
