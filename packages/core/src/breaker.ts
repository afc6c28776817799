import { QuotaError, StoreError, shown } from './errors.ts'
import { type MaybePromise, promised } from './maybe-promise.ts'
import { later } from './sleep.ts'
import type { Store } from './store.ts'
import { LONGEST, type Micros } from './time.ts'
import { warn } from './warn.ts'

/** Failures in a row after which a store is left alone for a while. */
const TOLERATED = 5
/** How long it is left alone at first, and at most; each failed probe doubles the time. */
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000

/**
 * A circuit breaker: it gives each call a deadline, and a store that keeps failing a rest. While the circuit is open,
 * calls fail at once; when the rest is over, one call at a time probes the store, and its success closes the circuit
 * for all. So a store that comes back is not met by everybody at once.
 */
export interface Breaker {
  /** Makes a call, or fails with a {@link StoreError} when the deadline passes, the store fails, or has to rest. */
  call<T>(work: () => MaybePromise<T>, deadline: Micros): Promise<T>
}

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** What a breaker is told and asks besides, for tests. */
export interface BreakerOptions {
  /** The time in milliseconds. */
  readonly now?: () => number
  /** Hears when the store begins to fail and when it is well again. */
  readonly log?: (message: string) => void
}

export function breaker({ now = () => performance.now(), log = warn }: BreakerOptions = {}): Breaker {
  let failures = 0
  let pause = FIRST_PAUSE_MS
  let restsUntil = 0
  let probing = false
  let lastError: StoreError | undefined

  const failed = (error: StoreError, probe: boolean): void => {
    failures++
    lastError = error
    if (failures === TOLERATED) log(`the store fails, and is asked again in ${pause} ms: ${error.message}`)
    if (probe) pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    // Of calls that were under way together, the first that fails begins the rest.
    if (probe || failures === TOLERATED) restsUntil = now() + pause
  }
  const succeeded = (): void => {
    if (failures >= TOLERATED) log('the store answers again')
    failures = 0
    pause = FIRST_PAUSE_MS
  }

  /** What hears of a call's end, made once: every request makes a call. */
  const hearing = (probe: boolean): Hearing => ({
    answered() {
      if (probe) probing = false
      succeeded()
    },
    failed(error) {
      if (probe) probing = false
      // What cannot be asked is the program's mistake, not the store's.
      if (error instanceof StoreError) failed(error, probe)
    },
  })
  const [ofCall, ofProbe] = [hearing(false), hearing(true)]

  return {
    call(work, deadline) {
      const resting = failures >= TOLERATED
      if (resting && (probing || now() < restsUntil)) {
        const message = `The store has failed ${failures} times in a row and is left alone for now.`
        return Promise.reject(new StoreError(message, lastError, { reason: 'open' }))
      }
      probing = resting
      return inTime(work, deadline, resting ? ofProbe : ofCall)
    },
  }
}

/** Hears how a call ended, once. */
interface Hearing {
  answered(): void
  failed(error: StoreError | QuotaError): void
}

const breakers = new WeakMap<Store, Breaker>()

/** The breaker of a store: one for all limiters that use it. */
export function breakerOf(store: Store): Breaker {
  let known = breakers.get(store)
  if (known === undefined) {
    known = breaker()
    breakers.set(store, known)
  }
  return known
}

/** The result of `work`, or why there is none: a {@link StoreError}, also when it has not answered by the deadline. */
function inTime<T>(work: () => MaybePromise<T>, deadline: Micros, hearing: Hearing): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const answer = promised(work)
    const fail = (error: StoreError | QuotaError): void => {
      hearing.failed(error)
      reject(error)
    }
    const late = (): void => {
      isLate = true
      const message = `The store did not answer within ${deadline / 1000} ms.`
      fail(new StoreError(message, undefined, { reason: 'timeout', late: answer.catch(() => undefined) }))
    }
    const stop = deadline < LONGEST ? later(deadline / 1000, late) : () => {}
    answer.then(
      (result) => {
        if (isLate) return
        stop()
        hearing.answered()
        resolve(result)
      },
      (cause: unknown) => {
        if (isLate) return
        stop()
        fail(asStoreError(cause))
      },
    )
  })
}

/** Gives whatever a store throws the one name that callers look for; a mistake of the program's stays one. */
export function asStoreError(cause: unknown): StoreError | QuotaError {
  if (cause instanceof StoreError || cause instanceof QuotaError) return cause
  return new StoreError(`The store failed: ${cause instanceof Error ? cause.message : shown(cause)}.`, cause)
}
