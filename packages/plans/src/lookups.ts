import { type Logger, type Micros, QuotaError, StoreError } from '@spillway/core'
import { deadlineIn, formatValue, stateNamer, warnOnce, whenExpired, withoutLink } from '@spillway/core/internal'
import { LRUCache } from 'lru-cache'
import type { Config } from './options.ts'

/** Looks up the value of a key, such as the plan of an API key. `undefined` or `null` means that the key is unknown. */
export type Lookup<V> = (key: string) => V | null | undefined | PromiseLike<V | null | undefined>

/** What is known about a key. */
export interface Found<V> {
  readonly value: V | undefined
  /** Set if the lookup failed: whether the value is the last known one or the default. */
  readonly degraded?: 'stale' | 'default'
}

interface Known<V> extends Found<V> {
  readonly value: V
  readonly freshUntilMs: number
}

/** A lookup that has not ended. */
interface Running<V> {
  readonly call: Promise<Found<V>>
  readonly startedMs: number
}

/** After how many milliseconds a lookup that has not ended never will, as if its connection were lost: it is repeated. */
const LOST_AFTER_MS = 30_000

/** How long a key is not looked up again after a lookup has failed, in milliseconds. */
const RETRY_AFTER_MS = 1_000

/** The most lookups at a time: a database that hangs must not collect promises without bound. */
const MOST_RUNNING = 10_000

/**
 * The cached lookups of one function. Known and unknown keys have a cache each, and keys that are being looked up have a
 * map: what a client makes up evicts no known key.
 */
export class Lookups<V extends NonNullable<unknown>> {
  readonly #lookup: Lookup<V>
  readonly #config: Config<V>
  readonly #known: LRUCache<string, Known<V>>
  readonly #unknown: LRUCache<string, { readonly untilMs: number }>
  readonly #failed: LRUCache<string, { readonly untilMs: number; readonly error: Error }>
  readonly #running = new Map<string, Running<V>>()
  readonly #nameOf = stateNamer()
  readonly #missing: Found<V>

  constructor(lookup: Lookup<V>, config: Config<V>) {
    const { max, maxUnknown, fallback } = config
    this.#lookup = lookup
    this.#config = config
    this.#missing = { value: fallback }
    this.#known = new LRUCache({ max })
    // Not with the cache's own times: an entry of the time 0 would never expire.
    this.#unknown = new LRUCache({ max: maxUnknown })
    this.#failed = new LRUCache({ max: maxUnknown })
  }

  /** Finds the value of a key: in the same tick if it is known, or known to be unknown. */
  find(key: string | null | undefined): Found<V> | Promise<Found<V>> {
    if (key === undefined || key === null || key === '') return this.#missing
    const name = this.#name(key)
    const now = this.#config.clock()
    const last = this.#last(name, now)
    if (last !== undefined && now < last.freshUntilMs) return last
    if (last === undefined && now < (this.#unknown.get(name)?.untilMs ?? -Infinity)) return this.#missing
    const failure = this.#failed.get(name)
    if (failure !== undefined && now < failure.untilMs) return this.#instead(name, failure.error)
    const lookup = this.#start(name, key, now)
    if (lookup === undefined) return this.#instead(name, this.#fail(name, tooMany()))
    const { timeout } = this.#config
    // If the key has been deleted meanwhile, its next request starts another lookup.
    const late = (): Error =>
      this.#running.get(name) === lookup ? this.#fail(name, tooSlow(timeout)) : tooSlow(timeout)
    // No request awaits this lookup, so no timer reports that it is slow.
    if (last !== undefined) return now - lookup.startedMs < timeout / 1_000 ? last : this.#instead(name, late())
    return inTime(lookup.call, timeout, late).catch((error: Error) => this.#instead(name, error))
  }

  /** Reports whether the value was known. */
  delete(key: string): boolean {
    const name = this.#name(key)
    this.#unknown.delete(name)
    this.#failed.delete(name)
    this.#running.delete(name)
    return this.#known.delete(name)
  }

  clear(): void {
    for (const each of [this.#known, this.#unknown, this.#failed, this.#running]) each.clear()
  }

  /** What is known about a key; undefined if that is too old. */
  #last(name: string, now: number): Known<V> | undefined {
    const last = this.#known.get(name)
    return last !== undefined && now < last.freshUntilMs + this.#config.staleMs ? last : undefined
  }

  #name(key: string): string {
    if (typeof key === 'string') return this.#nameOf({ policy: '', key })
    const hint = typeof key === 'object' ? 'Await it if it is a promise, or pass a text of it.' : 'Write String(…).'
    // The text of an object is the same for all: each key would get the value of the first.
    throw new QuotaError('ERR_SPILLWAY_KEY', `cached: key must be a string; got ${formatValue(key)}. ${hint}`)
  }

  /**
   * Starts a lookup, unless one of the key is running. Its result is kept, unless the key is deleted meanwhile. Returns
   * undefined if too many are running.
   */
  #start(name: string, key: string, startedMs: number): Running<V> | undefined {
    const isLost = (running: Running<V>): boolean => startedMs - running.startedMs >= LOST_AFTER_MS
    const pending = this.#running.get(name)
    if (pending !== undefined && !isLost(pending)) return pending
    this.#running.delete(name)
    const [oldest] = this.#running
    if (oldest !== undefined && isLost(oldest[1])) this.#running.delete(oldest[0])
    if (this.#running.size >= MOST_RUNNING) return undefined
    const finish = (): boolean => this.#running.get(name)?.call === call && this.#running.delete(name)
    const call: Promise<Found<V>> = new Promise<V | null | undefined>((resolve) => resolve(this.#lookup(key))).then(
      (value) => {
        if (finish()) this.#keep(name, value)
        return value === undefined || value === null ? this.#missing : { value }
      },
      (reason: unknown) => {
        const error = errorOf(reason)
        throw finish() ? this.#fail(name, error) : error
      },
    )
    const running = { call, startedMs }
    this.#running.set(name, running)
    // Requests that have the last known value do not await it.
    call.catch(() => {})
    return running
  }

  #keep(name: string, value: V | null | undefined): void {
    const { clock, ttlMs } = this.#config
    this.#failed.delete(name)
    if (value === undefined || value === null) {
      this.#known.delete(name)
      this.#unknown.set(name, { untilMs: clock() + ttlMs })
    } else {
      this.#unknown.delete(name)
      this.#known.set(name, { value, freshUntilMs: clock() + ttlMs })
    }
  }

  #fail(name: string, error: Error): Error {
    this.#failed.set(name, { error, untilMs: this.#config.clock() + RETRY_AFTER_MS })
    warnOfLookup(this.#config.logger, error)
    return error
  }

  /** What is returned instead of a failed lookup: the last known value, the default, or the error. */
  #instead(name: string, error: Error): Found<V> {
    const { fallback, throws, clock } = this.#config
    const last = this.#last(name, clock())
    if (throws || (last === undefined && fallback === undefined)) throw error
    return last === undefined ? { value: fallback, degraded: 'default' } : { value: last.value, degraded: 'stale' }
  }
}

const warnOfLookup = (logger: Logger, { message }: Error): void =>
  warnOnce(logger, 'WARN_SPILLWAY_LOOKUP', 'a cached lookup failed: ', withoutLink(message))

const errorOf = (reason: unknown): Error =>
  reason instanceof Error ? reason : new StoreError(`The lookup failed: ${formatValue(reason)}.`)

const tooSlow = (timeout: Micros): StoreError =>
  new StoreError(`The lookup took longer than ${timeout / 1_000} ms.`, undefined, { reason: 'timeout' })

const tooMany = (): StoreError =>
  new StoreError(`${MOST_RUNNING} lookups are running, the most at a time.`, undefined, { reason: 'pool' })

/** The promise, or a rejection if it takes longer. */
function inTime<T>(promise: Promise<T>, timeout: Micros, failure: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = whenExpired(deadlineIn(timeout), () => reject(failure()))
    promise.finally(stop).then(resolve, reject)
  })
}
