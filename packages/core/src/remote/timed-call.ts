import type { QuotaError, StoreError } from '../common/errors.ts'
import type { MaybePromise } from '../common/maybe-promise.ts'
import type { CallDeadline } from '../policies/policy.ts'
import { asStoreError } from '../stores/answers.ts'
import type { StateKey, Store } from '../stores/store.ts'
import { scopeOf } from '../stores/store-kinds.ts'
import { setConnectionError, timeoutError } from './connection-error.ts'
import { DeadlineTimer } from './deadline.ts'
import type { StoreLogger } from './failure-log.ts'

/** Called once when a call has ended, with what it was started with. */
export type OnEnd<About = unknown> = (call: AnyCall, about: About, error?: StoreError | QuotaError) => void

/** What all calls have in common. */
export interface AnyCall {
  /** A key of the call, which has its shard and its policy. */
  readonly key: StateKey
  readonly logger: StoreLogger
}

/**
 * A call of a store until its deadline: what it sends, what its answer means, and what decides if it fails. All of it is one
 * object, because one is made for each request.
 */
export abstract class TimedCall<A, T> extends DeadlineTimer implements AnyCall {
  readonly key: StateKey
  readonly logger: StoreLogger
  protected readonly store: Store
  #answer: Promise<A> | undefined
  #late: Promise<A> | undefined
  #resolve: ((result: T | Promise<T>) => void) | undefined
  #about: unknown
  #onEnd: OnEnd | undefined

  constructor(store: Store, key: StateKey, deadline: CallDeadline, logger: StoreLogger) {
    super(deadline)
    this.store = store
    this.key = key
    this.logger = logger
  }

  abstract send(): MaybePromise<A>

  /** The result of an answer. Throws if the answer is invalid, also if it is late. */
  abstract read(answer: A): T

  /** The result if the call fails. With `then`, it would cost more promises. */
  fallBack(error: StoreError | QuotaError): Promise<T> {
    return Promise.reject(error)
  }

  /** Sends the call. Resolves with the result of its answer, or of the fallback if it fails or the deadline passes first. */
  start<About>(about: About, onEnd: OnEnd<About>): Promise<T> {
    this.#about = about
    this.#onEnd = onEnd as OnEnd
    try {
      this.#answer = Promise.resolve(this.send())
    } catch (error) {
      this.#answer = Promise.reject(error)
    }
    const result = new Promise<T>((resolve) => {
      this.#resolve = resolve
    })
    this.startTimer()
    this.#answer.then(
      (inTime) => {
        if (this.#late !== undefined) return
        this.stopTimer()
        let known: T
        try {
          known = this.read(inTime)
        } catch (cause) {
          this.#fail(asStoreError(cause))
          return
        }
        onEnd(this, about)
        this.#resolve?.(known)
      },
      (cause: unknown) => {
        // It may explain the next calls.
        if (this.#late !== undefined) return setConnectionError(scopeOf(this.store).owner, cause)
        this.stopTimer()
        this.#fail(asStoreError(cause))
      },
    )
    return result
  }

  onExpired(): void {
    const answer = this.#answer as Promise<A>
    this.#late = this.#checked(answer)
    this.#fail(timeoutError(this.store, this.deadline.spanMs, this.#late))
  }

  async #checked(answer: Promise<A>): Promise<A> {
    const known = await answer
    this.read(known)
    return known
  }

  #fail(error: StoreError | QuotaError): void {
    this.#onEnd?.(this, this.#about, error)
    this.#resolve?.(this.fallBack(error))
  }
}
