import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { ShownNames } from '../headers/display-names.ts'
import type { RequestParts } from '../requests/parts.ts'
import { whileConnected } from '../requests/while-connected.ts'
import type { CompiledPolicy, HttpCheck } from './compiled.ts'
import type { Setup } from './seams.ts'
import { CLIENT_CLOSED, type Verdict } from './verdict.ts'

/** Counts a request: from its checks to the verdict, in the same tick if nothing has to be awaited. */
export type Evaluate<R, S> = (parts: RequestParts<R>, names?: ShownNames) => MaybePromise<Verdict<S>>

/** Builds what counts requests by these policies. A request in progress keeps its policies when they are replaced. */
export function evaluatorFor<R, S>(policies: readonly CompiledPolicy<R, S>[], setup: Setup<R, S>): Evaluate<R, S> {
  const { seams, reader } = setup
  const readChecks = seams.checks(policies)
  const enforce = seams.enforce(policies, setup)
  const judge = seams.verdict(policies, setup)
  const evaluate = (
    parts: RequestParts<R>,
    names?: ShownNames,
    checks: MaybePromise<readonly HttpCheck<R, S>[]> = readChecks(parts),
  ): MaybePromise<Verdict<S>> => {
    if (checks instanceof Promise) {
      return whileConnected(reader, parts.request, checks).then((known) =>
        known ? evaluate(parts, names, known) : CLIENT_CLOSED,
      )
    }
    const acquisition = enforce(parts, checks)
    return acquisition instanceof Promise
      ? acquisition.then((known) => judge(parts, known, names))
      : judge(parts, acquisition, names)
  }
  return evaluate
}
