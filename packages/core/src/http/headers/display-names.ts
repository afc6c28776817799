import type { Decision } from '../../algorithms/decision.ts'
import type { RequestState } from '../requests/request-state.ts'

/** The names in headers of policies whose name another limiter on the same request has. */
export type ShownNames = ReadonlyMap<string, string>

/** The name of a policy in headers. */
export const shownName = (name: string, names: ShownNames | undefined): string => names?.get(name) ?? name

/**
 * The names in headers of a limiter's policies behind other limiters: a second "default" is "default-2". Undefined if
 * all names are free. State names do not change: which limiters a request passes must not affect what is counted
 * together.
 */
export function shownNamesOf(
  own: readonly string[],
  before: RequestState<Decision> | undefined,
): ShownNames | undefined {
  if (before === undefined || !own.some((name) => isTaken(name, before))) return undefined
  const names = new Map<string, string>()
  const isFree = (name: string): boolean => !own.includes(name) && !isTaken(name, before)
  for (const name of own) {
    if (!isTaken(name, before)) continue
    let i = 2
    while (!isFree(`${name}-${i}`)) i++
    names.set(name, `${name}-${i}`)
  }
  return names
}

/** Whether another limiter on the request reports a policy of this name. */
function isTaken(name: string, state: RequestState<Decision> | undefined): boolean {
  if (state === undefined) return false
  const { value: decision, shownNames, before } = state
  const decisions = decision?.policies ?? [decision]
  return decisions.some((each) => each && shownName(each.policy, shownNames) === name) || isTaken(name, before)
}
