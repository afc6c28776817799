import { NONE } from '../../algorithms/decision-of.ts'
import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { Acquisition } from '../../policies/policy.ts'
import type { RequestParts } from '../requests/parts.ts'
import type { CompiledPolicy, HttpCheck, HttpPolicy } from './compiled.ts'

/** The checks of a request's acquisition: requests are checked by compiled policies only. */
export const checksOf = <R, S>({ checks }: Pick<Acquisition, 'checks'>): readonly HttpCheck<R, S>[] =>
  checks as readonly HttpCheck<R, S>[]

/** The check of the policy that a decision names. */
export const checkNamed = <R, S>(acquisition: Pick<Acquisition, 'checks'>, name: string): HttpCheck<R, S> =>
  checksOf<R, S>(acquisition).find(({ policy }) => policy.name === name) as HttpCheck<R, S>

/** The check of a policy for a request: first its key, and then the rest, in the order that the docs document. */
export function checkOf<R, S>(
  compiled: CompiledPolicy<R, S>,
  parts: RequestParts<R>,
  key: MaybePromise<string | undefined> = compiled.keyOf(parts),
): MaybePromise<HttpCheck<R, S> | undefined> {
  if (key instanceof Promise)
    return key.then((known) => (known === undefined ? known : checkOf(compiled, parts, known)))
  if (key === undefined) return undefined
  const { policy, cost, completes } = compiled
  const check = { policy: policy as HttpPolicy, key, cost, compiled, pk: '' }
  return completes.length === 0 ? check : completed(check, parts, 0)
}

/** The check when all that its policy reads of the request is known. */
function completed<R, S>(check: HttpCheck<R, S>, parts: RequestParts<R>, from: number): MaybePromise<HttpCheck<R, S>> {
  const { completes } = check.compiled
  for (let i = from; i < completes.length; i++) {
    const pending = completes[i]?.(check, parts)
    if (pending instanceof Promise) return pending.then(() => completed(check, parts, i + 1))
  }
  return check
}

/** Builds what reads the check of one policy, as a list. */
export const readingOne =
  <R, S>(compiled: CompiledPolicy<R, S>) =>
  (parts: RequestParts<R>): MaybePromise<readonly HttpCheck<R, S>[]> => {
    const check = checkOf(compiled, parts)
    if (check instanceof Promise) return check.then((known) => (known === undefined ? NONE : [known]))
    return check === undefined ? NONE : [check]
  }
