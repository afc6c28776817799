import type { Decision } from '../algorithms/decision.ts'
import type { Quota, SlotsQuota } from '../algorithms/quota-types.ts'
import type { CommonOptions } from './limiter-options.ts'
import type { WaitOptions } from './wait.ts'

/** Slots that a caller holds, or the denial. */
export interface Slot extends Decision, AsyncDisposable {
  /** Whether the store has given the slots up, as this process or the store did not answer for the `ttl`. */
  readonly isLost: boolean
  /** Releases the slots, once: later calls change nothing. Without it, they are held as long as this process runs. */
  release(): Promise<void>
}

/** Options of `acquire`. */
export interface AcquireOptions extends WaitOptions {
  /**
   * Called if the slots are lost while they are held: another caller may have them.
   * @default none, a warning is logged
   */
  readonly onLost?: () => void
}

/** What a limiter of slots can do besides. */
export interface SlotHolder {
  /**
   * Acquires slots, which this process renews until they are released: `await using slot = await limiter.acquire(key)`. If none is
   * free, it waits in line for up to `maxWait` (default: not at all), and then resolves with a denial: `slot.allowed` is false.
   * Rejects with the signal's reason if it aborts.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Slot>
}

/** The quotas of a limiter that has slots. */
export type SlotsQuotas<Q extends Readonly<Record<string, Quota>>> =
  | { readonly quota: SlotsQuota; readonly quotas?: never; readonly spill?: never }
  | {
      readonly quota?: never
      readonly quotas: Q & ([Extract<Q[keyof Q], SlotsQuota>] extends [never] ? never : unknown)
      readonly spill?: Readonly<Record<string, string>>
    }

/** The options of a limiter that has slots. */
export type SlotsOptions<Q extends Readonly<Record<string, Quota>>> = CommonOptions & SlotsQuotas<Q>
