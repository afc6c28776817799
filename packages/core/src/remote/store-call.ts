import type { MaybePromise } from '../common/maybe-promise.ts'
import type { Taken } from '../kernels/kernel.ts'
import type { Batches, CallDeadline } from '../policies/policy.ts'
import { checkDeleted, checkTaken } from '../stores/answers.ts'
import type { StateKey, Store, Take } from '../stores/store.ts'
import { breakerOf } from './breaker.ts'
import type { StoreLogger } from './failure-log.ts'
import { TimedCall } from './timed-call.ts'

/** A call by functions. */
class CallBy<A, T> extends TimedCall<A, T> {
  readonly send: () => MaybePromise<A>
  readonly read: (answer: A) => T

  constructor(
    call: readonly [Store, StateKey, CallDeadline, StoreLogger],
    send: () => MaybePromise<A>,
    read: (answer: A) => T,
  ) {
    super(...call)
    this.send = send
    this.read = read
  }
}

/** Takes from a remote store until the deadline. An invalid answer is a failure of the store. */
export const takeFrom = (
  store: Store,
  ops: readonly Take[],
  deadline: CallDeadline,
  logger: StoreLogger,
): Promise<readonly Taken[]> =>
  breakerOf(store).call(
    new CallBy(
      [store, ops[0] as Take, deadline, logger],
      () => store.take(ops, undefined, deadline),
      (answer) => checkTaken(answer, ops),
    ),
  )

/** Takes several batches from a remote store, as {@link takeFrom}: at one moment, if it has `takeEach`. */
export const takeEachFrom = (
  store: Store,
  batches: Batches,
  deadline: CallDeadline,
  logger: StoreLogger,
): Promise<readonly (readonly Taken[])[]> =>
  breakerOf(store).call(
    new CallBy(
      [store, batches[0]?.[0] as Take, deadline, logger],
      () =>
        store.takeEach
          ? store.takeEach(batches, undefined, deadline)
          : Promise.all(batches.map((ops) => store.take(ops, undefined, deadline))),
      (answer) => batches.map((ops, i) => checkTaken(Array.isArray(answer) ? answer[i] : answer, ops)),
    ),
  )

/** Deletes states of one key in a remote store, as {@link takeFrom}; resolves with how many were stored. */
export const deleteFrom = (
  store: Store,
  keys: readonly [StateKey, ...StateKey[]],
  deadline: CallDeadline,
  logger: StoreLogger,
): Promise<number> =>
  breakerOf(store).call(
    new CallBy([store, keys[0], deadline, logger], () => store.delete(keys, deadline), checkDeleted),
  )
