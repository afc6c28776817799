import type { Logger } from '../common/warn.ts'
import type { Taken } from '../kernels/kernel.ts'
import type { CallDeadline } from '../policies/policy.ts'
import { checkDeleted, checkTaken } from '../stores/answers.ts'
import type { StateKey, Store, Take } from '../stores/store.ts'
import { breakerOf } from './breaker.ts'

/** Takes from a remote store until the deadline. An invalid answer is a failure of the store. */
export const takeFrom = <T = readonly Taken[]>(
  store: Store,
  ops: readonly Take[],
  deadline: CallDeadline,
  logger: Logger,
  read = (taken: readonly Taken[]): T => taken as T,
  fallBack?: (error: unknown) => Promise<T>,
): Promise<T> =>
  breakerOf(store).call(
    ops[0] as Take,
    () => store.take(ops, undefined, deadline),
    deadline,
    logger,
    (answer) => read(checkTaken(answer, ops)),
    fallBack,
  )

/** Takes several batches from a remote store, as {@link takeFrom}: at one moment, if it has `takeEach`. */
export const takeEachFrom = (
  store: Store,
  batches: readonly (readonly Take[])[],
  deadline: CallDeadline,
  logger: Logger,
): Promise<readonly (readonly Taken[])[]> =>
  breakerOf(store).call(
    batches[0]?.[0] as Take,
    () =>
      store.takeEach
        ? store.takeEach(batches, undefined, deadline)
        : Promise.all(batches.map((ops) => store.take(ops, undefined, deadline))),
    deadline,
    logger,
    (answer) => batches.map((ops, i) => checkTaken(Array.isArray(answer) ? answer[i] : answer, ops)),
  )

/** Deletes states of one key in a remote store, as {@link takeFrom}; resolves with how many were stored. */
export const deleteFrom = (
  store: Store,
  keys: readonly [StateKey, ...StateKey[]],
  deadline: CallDeadline,
  logger: Logger,
): Promise<number> => breakerOf(store).call(keys[0], () => store.delete(keys, deadline), deadline, logger, checkDeleted)
