import type { Signal } from '@spillway/core'
import { acquire, checkKey, checkOptions, checkSignal, inTime, monotonicMs, waitFor } from '@spillway/core/internal'
import { type AnswerHeaders, readRateLimit } from './headers/read.ts'
import { lessonOf } from './lesson.ts'
import { checksOf, LimitBuilder } from './limits.ts'
import { type Config, configOf, type PacerOptions } from './options.ts'
import { type CallDescription, type OutgoingRequest, outgoing } from './outgoing.ts'
import { Partners } from './partners.ts'
import { ServiceDownError } from './service-down.ts'

/** An answer, as a pacer reads it. */
export interface Answer {
  readonly status: number
  readonly headers: AnswerHeaders
}

/** Paces calls that another library sends: wait before each, and hand over what was answered. */
export interface Pacer {
  /**
   * Resolves when it is the call's turn, first come, first served. Rejects with a `RateLimitedError` at once if the wait is longer
   * than `maxWait`, with a `ServiceDownError` if most calls fail, and with the reason of the signal if it aborts.
   */
  pace(call: CallDescription, options?: { readonly signal?: Signal }): Promise<void>
  /** Learns from an answer: resolves when its limits hold for calls after it, and its pause for all processes. */
  learn(call: CallDescription, answer: Answer): Promise<void>
  /** Counts a call that was not answered. */
  fail(call: CallDescription): Promise<void>
}

/**
 * Paces calls that another library sends, such as got or undici. For `fetch`, and all that take one, use `limitedFetch`. Throws a
 * `QuotaError` if an option is invalid.
 */
export function pacer(options: PacerOptions): Pacer {
  const engine = new Engine(configOf('pacer', options))
  return {
    pace: async (call, options = {}) => {
      checkOptions('pace', options, ['signal'])
      const signal = checkSignal(options.signal)
      await engine.pace(await engine.keyOf(outgoing(call)), signal)
    },
    learn: async (call, answer) => void (await engine.learn(await engine.keyOf(outgoing(call)), answer)),
    fail: async (call) => engine.fail(await engine.keyOf(outgoing(call))),
  }
}

/** Statuses of a service, or of a proxy before it, that does not work. */
export const DOWN: readonly number[] = [502, 503, 504]

/** How long denials that do not say it pause a key: doubled with each in a row, up to a minute. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1_000, 60_000]
/** The most by which a pause is lengthened, so that not all clients of a service come back at once. */
const JITTER = 0.1

/** Paces calls by their keys. */
export class Engine {
  readonly partners: Partners = new Partners()
  readonly #config: Config
  readonly #limits: LimitBuilder

  constructor(config: Config) {
    const { name, quota, storeConfig } = config
    this.#config = config
    this.#limits = new LimitBuilder(name, quota, storeConfig)
  }

  async keyOf(request: OutgoingRequest): Promise<string> {
    return checkKey(await inTime('key')(this.#config.key(request)))
  }

  /** Resolves at the turn of a call. */
  async pace(key: string, signal: Signal | undefined, maxWaitMs: number = this.#config.maxWaitMs): Promise<void> {
    const { throttle, limits } = this.partners.of(key)
    const share = throttle.share(monotonicMs())
    if (share > 0 && Math.random() < share) {
      throttle.count(monotonicMs(), false)
      throw new ServiceDownError(key, share)
    }
    await waitFor(this.#checks(key, limits), Math.max(Math.ceil(maxWaitMs * 1_000), 0), signal)
  }

  /** Learns from an answer. Resolves with whether it denies the call. */
  async learn(key: string, { status, headers }: Answer): Promise<boolean> {
    const partner = this.partners.of(key)
    const { rate: paced } = partner.limits ?? this.#limits.configured
    const { isDenied, pauseMs, rate } = lessonOf(status, readRateLimit(headers), paced)
    partner.countCall()
    // A service that says when to come back is not down.
    partner.throttle.count(monotonicMs(), isDenied || !DOWN.includes(status))
    partner.denials = isDenied ? partner.denials + 1 : 0
    if (rate !== undefined) partner.limits = rate === null ? undefined : this.#limits.learned(rate, partner.limits)
    await this.#pause(key, pauseMs ?? Math.min(FIRST_PAUSE_MS * 2 ** (partner.denials - 1), LONGEST_PAUSE_MS))
    return isDenied
  }

  fail(key: string): void {
    const partner = this.partners.of(key)
    partner.countCall()
    partner.throttle.count(monotonicMs(), false)
  }

  /** Consumes a unit for a call that was made already, such as by a redirect. */
  async charge(key: string): Promise<void> {
    const checks = this.#checks(key, this.partners.of(key).limits).slice(0, -1)
    await Promise.resolve(acquire('charge', checks)).catch(() => {})
  }

  #checks(key: string, limits = this.#limits.configured) {
    return checksOf(limits, key)
  }

  /** Pauses a key. If the store does not answer, it is paused in this process, as far as `onStoreError` says. */
  async #pause(key: string, ms: number): Promise<void> {
    if (ms <= 0) return
    const partner = this.partners.of(key)
    const pauseMs = Math.min(ms, this.#config.maxPauseMs)
    // Calls that were in flight together are answered alike.
    if (partner.pausedUntilMs >= monotonicMs() + pauseMs) return
    const longerMs = pauseMs * (1 + JITTER * Math.random())
    partner.pausedUntilMs = monotonicMs() + longerMs
    await this.#limits.pause(key, longerMs).catch(() => {})
  }
}
