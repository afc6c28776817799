import { processState } from '../common/process-state.ts'
import { type Logger, warnOnce } from '../common/warn.ts'
import type { Store } from './store.ts'

/** More limiters than an app has that gives them no store, and few enough that the warning comes soon. */
const MANY = 100

/**
 * The store of a limiter: the one of its options, or else a new one. A limiter that is built for each request never denies,
 * because each starts with a new store: the process is warned of many.
 */
export function storeOr<S extends Store>(given: S | undefined, makeDefault: () => S, logger: Logger): S {
  if (given !== undefined) return given
  const built = processState('limiters without a store', () => ({ count: 0 }))
  built.count++
  if (built.count === MANY) {
    warnOnce(
      logger,
      'WARN_SPILLWAY_MANY_LIMITERS',
      `${MANY} limiters were built without a store: each counts in a new one. Build a limiter once, not for each request.`,
    )
  }
  return makeDefault()
}
