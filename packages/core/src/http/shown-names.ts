import type { Decision } from '../decision.ts'
import type { Note } from './notes.ts'

/** The names that clients read of policies which are named as one of another limiter on the same request. */
export type ShownNames = ReadonlyMap<string, string>

/** The name of a policy that clients read. */
export const shownName = (name: string, names: ShownNames | undefined): string => names?.get(name) ?? name

/**
 * The names that clients read of a limiter's policies behind other limiters: a second "default" is "default-2". Undefined
 * if none is taken. State names stay as they are: which limiters a request passes must not decide what counts as one.
 */
export function shownNamesOf(own: readonly string[], before: Note<Decision> | undefined): ShownNames | undefined {
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

/** Reports whether a client reads the name of another limiter's policy. */
function isTaken(name: string, note: Note<Decision> | undefined): boolean {
  if (note === undefined) return false
  const { text, shownNames, before } = note
  const decisions = text?.policies ?? [text]
  return decisions.some((each) => each && shownName(each.policy, shownNames) === name) || isTaken(name, before)
}
