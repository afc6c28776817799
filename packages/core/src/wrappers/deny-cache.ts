import { runKernel, takenOf } from '../algorithms/algorithm.ts'
import { invalidOption } from '../common/errors.ts'
import { evictOldest } from '../common/eviction.ts'
import { checkOptions } from '../common/guess.ts'
import { checkCount, checkFunctions } from '../common/options.ts'
import { type Duration, type Micros, micros, monotonicMs } from '../common/time.ts'
import type { Outcome, Taken } from '../kernels/kernel.ts'
import type { Deadline, StateKey, Store, Take } from '../stores/store.ts'
import { checkIsStore } from '../stores/store-kinds.ts'
import { type CachedDenial, cacheOf } from './cached-denial.ts'
import { cachedStateOf, isCompatible, shortStateName } from './cached-state.ts'
import { deletingAll, listing, storeTraits, takingEach } from './forwarding.ts'

/** Options of `withDenyCache`. */
export interface DenyCacheOptions {
  /**
   * How long a denial is cached at most. Meanwhile this process denies a key that another process has refunded or
   * reset. `false` answers nothing from the cache, and only invalidates entries of its `scope`.
   * @default `'1s'`
   */
  readonly for?: Duration | false
  /**
   * How many denials are cached. If there are more, the oldest eighth is evicted. A key that has over 512 characters,
   * together with the name of its policy, is not cached.
   * @default `10_000`
   */
  readonly maxKeys?: number
  /**
   * Wrappers with the same scope object share one cache, so that each of them sees refunds and resets of the others.
   * Use it for wrappers over the same states.
   * @default a cache of its own
   */
  readonly scope?: object
  /**
   * A monotonic clock in milliseconds, for tests.
   * @default `performance.now`
   */
  readonly stopwatch?: () => number
}

const isRefund = ({ step }: Take): boolean => step.increment < 0

/**
 * Returns a store with a deny cache: it caches the denials of `store` and denies the same keys in this process until the
 * wait or `for` is over. Meanwhile, retries of a denied client cause no calls to the store.
 *
 * It runs the kernel on the state that the denial revealed, so that its answers are those of the store. A local monotonic
 * clock extrapolates the store's. Since the store was asked, its clock has advanced by no more than that: no request is denied
 * whose units may be back. Since it has answered, by no less: no wait is too short. A request that may be allowed, or would
 * write, is sent to the store.
 *
 * Throws a `QuotaError` if an option is invalid.
 */
export function withDenyCache(store: Store, options: DenyCacheOptions = {}): Store {
  checkIsStore('the store of withDenyCache', store)
  checkOptions('withDenyCache', options, ['for', 'maxKeys', 'scope', 'stopwatch'])
  checkFunctions(options, ['stopwatch'])
  const { scope = {}, stopwatch = monotonicMs } = options
  const maxKeys = checkCount('maxKeys', options.maxKeys ?? 10_000, 1)
  const validMs = options.for === false ? -1 : micros(options.for ?? '1s', 'for') / 1000
  if (typeof scope !== 'object' || scope === null) {
    throw invalidOption('scope must be an object', scope)
  }
  const cache = cacheOf(scope)
  const { denials } = cache

  /** The cached denials of all keys; undefined if one is missing or expired. */
  const known = (ops: readonly Take[]): readonly CachedDenial[] | undefined => {
    const found: CachedDenial[] = []
    for (const op of ops) {
      const name = shortStateName(op)
      const denial = name === undefined ? undefined : denials.get(name)
      if (denial === undefined || stopwatch() - denial.askedMs > validMs) return undefined
      found.push(denial)
    }
    return found
  }
  const recall = (ops: readonly Take[], at: Micros | undefined): readonly Taken[] | undefined => {
    const found = denials.size > 0 ? known(ops) : undefined
    if (found === undefined) return undefined
    const ms = stopwatch()
    const since = (when: 'askedMs' | 'answeredMs'): Micros =>
      at ?? Math.max(...found.map((denial) => denial.now + Math.floor((ms - denial[when]) * 1000)))
    const latest = since('askedMs')
    if (!found.every((denial, i) => isCompatible(denial, (ops[i] as Take).step, latest))) return undefined
    const outcomesAt = (now: Micros): readonly Outcome[] =>
      found.map(({ state }, i) => runKernel(state, now, (ops[i] as Take).step))
    const outcomes = outcomesAt(latest)
    if (outcomes.every(({ allowed }) => allowed) || outcomes.some(({ kept }, i) => kept !== found[i]?.state))
      return undefined
    const earliest = since('answeredMs')
    return outcomesAt(earliest).map((outcome, i) => takenOf(outcome, earliest, (ops[i] as Take).step, false))
  }
  const remember = (ops: readonly Take[], taken: readonly Taken[], askedMs: number): void => {
    for (const [i, op] of ops.entries()) {
      // After a clock step back, a peek reports a corrected state without writing it: the stored state differs.
      if (op.step.peek) continue
      const name = shortStateName(op)
      if (name === undefined) continue
      const state = cachedStateOf(op.step, taken[i] as Taken)
      denials.delete(name)
      if (state !== undefined)
        denials.set(name, {
          policy: op.policy,
          step: op.step,
          state,
          now: (taken[i] as Taken).now,
          askedMs,
          answeredMs: stopwatch(),
        })
    }
    evictOldest(denials, maxKeys)
  }
  const learn = (ops: readonly Take[], taken: readonly Taken[], number: number, askedMs: number): void => {
    let hasDenied = false
    let hasRefunded = false
    // Loops, because this runs for each request.
    for (const { allowed } of taken) hasDenied ||= !allowed
    for (const { step } of ops) hasRefunded ||= step.increment < 0
    // A denial that is not cached may have changed the state, too: by a quota of another length.
    if (number > cache.lastInvalidation && hasDenied) remember(ops, taken, askedMs)
    else if (denials.size > 0) forget(ops)
    if (hasRefunded) cache.lastInvalidation = cache.calls
  }
  const forget = (keys: readonly StateKey[]): void => {
    for (const key of keys) denials.delete(shortStateName(key) ?? '')
  }
  const invalidate = (keys: readonly StateKey[]): void => {
    cache.lastInvalidation = cache.calls
    forget(keys)
  }
  /** A refund that fails may have been made. */
  const fail = (ops: readonly Take[], error: unknown): never => {
    if (ops.some(isRefund)) invalidate(ops)
    throw error
  }

  /** Asks the store, and learns from its answer. */
  const ask = async (ops: readonly Take[], at: Micros | undefined, deadline?: Deadline): Promise<readonly Taken[]> => {
    const number = ++cache.calls
    const askedMs = stopwatch()
    let taken: readonly Taken[]
    try {
      taken = await store.take(ops, at, deadline)
    } catch (error) {
      return fail(ops, error)
    }
    learn(ops, taken, number, askedMs)
    return taken
  }

  return {
    ...storeTraits(store),
    take(ops, at, deadline) {
      const recalled = recall(ops, at)
      return recalled ? Promise.resolve(recalled) : ask(ops, at, deadline)
    },
    ...takingEach(store, (batches, at, deadline, takeEach) => {
      const recalled = batches.map((ops) => recall(ops, at)).filter((taken) => taken !== undefined)
      if (recalled.length === batches.length) return Promise.resolve(recalled)
      const number = ++cache.calls
      const askedMs = stopwatch()
      return takeEach(batches, at, deadline).then(
        (answers) => {
          for (const [i, taken] of answers.entries()) learn(batches[i] as readonly Take[], taken, number, askedMs)
          return answers
        },
        (error: unknown) => fail(batches.flat(), error),
      )
    }),
    delete: (keys, deadline) => store.delete(keys, deadline).finally(() => invalidate(keys)),
    ...listing(store),
    ...deletingAll(store, (policies, work) =>
      work().finally(() => {
        cache.lastInvalidation = cache.calls
        for (const [name, { policy }] of denials) if (policies.includes(policy)) denials.delete(name)
      }),
    ),
  }
}
