import { perDay, type Quota } from '@spillway/core'
import {
  BLOCK_LIST,
  blockKey,
  blockListName,
  type Policy,
  type PolicyCheck,
  policyOf,
  type StoreConfig,
} from '@spillway/core/internal'
import { type Rate, speedOf } from './lesson.ts'

/** Calls arrive a little earlier or later than they are sent: a window that is counted elsewhere must hold them all. */
const HEADROOM = 0.03
const DAY_MS = 86_400_000

/** The limits of a key: the quota, a lower rate that was learned, and a block list, by which all processes pause it. */
export interface Limits {
  readonly rate: Rate
  readonly policies: readonly Policy[]
}

/** Builds the limits of keys on a store. */
export class LimitBuilder {
  /** Those of the quota, without a learned rate. */
  readonly configured: Limits
  readonly #quota: Quota
  readonly #config: StoreConfig
  readonly #name: string
  readonly #blockList: Policy

  constructor(name: string, quota: Quota, config: StoreConfig) {
    const policy = policyOf(name, quota, config)
    this.#blockList = policyOf(name, BLOCK_LIST, config, blockListName(name))
    this.configured = { rate: rateOf(quota), policies: [policy, this.#blockList] }
    this.#quota = quota
    this.#config = config
    this.#name = name
  }

  /** With a rate that was learned; the same ones if that is no lower. It is consumed beside the quota, which holds whatever it is. */
  learned({ limit, windowMs, isGuess }: Rate, before: Limits | undefined): Limits {
    const isSame = before?.rate.limit === limit
    // Of a window whose length is not known, the longest time to its end tells it best.
    const rate = { limit, windowMs: isSame && isGuess ? Math.max(windowMs, before.rate.windowMs) : windowMs }
    if (isSame && before.rate.windowMs === rate.windowMs) return before
    if (speedOf(rate) * (1 - HEADROOM) >= speedOf(this.configured.rate)) return this.configured
    const units = Math.max(Math.floor(speedOf(rate) * (1 - HEADROOM) * DAY_MS), 1)
    const burst = Math.max(Math.min(burstOf(this.#quota), Math.floor(limit)), 1)
    const policy = policyOf(`${this.#name} (learned)`, perDay(units, { burst }), this.#config)
    const [configured, blockList] = this.configured.policies as readonly [Policy, Policy]
    return { rate, policies: [configured, policy, blockList] }
  }

  /** Pauses a key in all processes. */
  pause(key: string, ms: number): Promise<void> {
    return blockKey([{ policy: this.#blockList, key }], ms)
  }
}

/** The rate of a quota, over a second or more. */
function rateOf({ limit, window }: Quota): Rate {
  const windowMs = Math.max(window / 1_000, 1_000)
  return { limit: (limit * windowMs * 1_000) / window, windowMs }
}

/** How many units are allowed at once. */
const burstOf = (quota: Quota): number => (quota.kernel === 'bucket' ? quota.immediateUnits : quota.limit)

/** The checks of a call. */
export const checksOf = ({ policies }: Limits, key: string): readonly PolicyCheck[] =>
  policies.map((policy) => ({ policy, key, cost: 1 }))
