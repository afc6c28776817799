import type { SlotsQuota } from '../../algorithms/quota-types.ts'
import { renewal, type SlotsTaken } from '../../algorithms/slots/slots-step.ts'
import { setLongTimeout } from '../../common/long-timeout.ts'
import { andThen, caught } from '../../common/maybe-promise.ts'
import { processState } from '../../common/process-state.ts'
import { type Micros, monotonicMs } from '../../common/time.ts'
import type { PolicyCheck } from '../../policies/policy.ts'

// A process renews all of its slots together: stores send the calls of one tick as one.

/** Slots that are renewed. */
export interface Holding {
  readonly check: PolicyCheck
  readonly quota: SlotsQuota
  readonly taken: SlotsTaken
  /** Called if another holder may have them. */
  onLost(): void
}

/** How often slots are renewed within their `ttl`. */
const BEATS = 3

/** The slots of this process with one `ttl`. */
class Heartbeat {
  readonly #everyMs: number
  /** Each with the time of its last renewal, the earliest first. */
  readonly #renewedMs = new Map<Holding, number>()
  #stop: (() => void) | undefined
  /** How far the system's clock is ahead of that of the process: a machine that sleeps stops the latter. */
  #aheadMs = aheadMs()

  constructor(ttl: Micros) {
    this.#everyMs = ttl / 1000 / BEATS
  }

  add(holding: Holding): () => void {
    this.#renewedMs.set(holding, monotonicMs())
    this.#schedule()
    return () => void this.#renewedMs.delete(holding)
  }

  /** Renews the slots that are due, or were renewed `atLeastMs` ago. */
  beat(atLeastMs: number = this.#everyMs / 2): void {
    const now = monotonicMs()
    // Those that are renewed come last. A copy of the map would cost each request all slots of the process.
    let left = this.#renewedMs.size
    for (const [holding, renewedMs] of this.#renewedMs) {
      if (left === 0 || now - renewedMs < atLeastMs) break
      left -= 1
      this.#renewedMs.delete(holding)
      this.#renewedMs.set(holding, now)
      this.#renew(holding)
    }
  }

  /** Renews the slots of a process that was stopped for so long that others may soon have them. */
  catchUp(): void {
    const jumpedMs = aheadMs() - this.#aheadMs
    this.#aheadMs += jumpedMs
    this.beat(jumpedMs > this.#everyMs ? 0 : 2 * this.#everyMs)
  }

  holdings(): Iterable<Holding> {
    return this.#renewedMs.keys()
  }

  #renew(holding: Holding): void {
    const { check, quota, taken } = holding
    const { policy, key, cost } = check
    const take = { policy: policy.name, key, step: renewal(quota, cost, taken) }
    const lost = (answer: { readonly id: number }): void => {
      if (answer.id === 0 && this.#renewedMs.delete(holding)) holding.onLost()
    }
    // A store that fails is asked again with the next beat.
    void caught(
      () => andThen(policy.storeConfig.calls.take([check], [take]), ([answer]) => lost(answer as SlotsTaken)),
      () => {},
    )
  }

  #schedule(): void {
    this.#stop ??= setLongTimeout(
      this.#everyMs,
      () => {
        this.#stop = undefined
        this.beat()
        if (this.#renewedMs.size > 0) this.#schedule()
      },
      { holds: false },
    )
  }
}

const aheadMs = (): number => Date.now() - monotonicMs()

const heartbeats = (): Map<Micros, Heartbeat> => processState('heartbeats', () => new Map())

/** Renews slots until the function returned is called. */
export function renewUntil(holding: Holding): () => void {
  const { window: ttl } = holding.quota
  const heartbeat = heartbeats().get(ttl) ?? new Heartbeat(ttl)
  heartbeats().set(ttl, heartbeat)
  return heartbeat.add(holding)
}

/** Renews what a process that was stopped may lose, before it acquires more. */
export function catchUp(): void {
  for (const heartbeat of heartbeats().values()) heartbeat.catchUp()
}

/** Returns how many slots this process holds now, by the names of their policies. A policy without any is left out. */
export function heldSlots(): ReadonlyMap<string, number> {
  const held = new Map<string, number>()
  for (const heartbeat of heartbeats().values()) {
    for (const { check } of heartbeat.holdings()) {
      const { name } = check.policy
      held.set(name, (held.get(name) ?? 0) + check.cost)
    }
  }
  return held
}
