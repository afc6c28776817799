import type { Deadline, Micros, State, StoreError, Take, Taken } from '@spillway/core'
import { emptyAt, expiredError, isExpired, runKernel, takenOf } from '@spillway/core/internal'

/** One call of `take`: its ops, and the names of their rows. */
export interface Call {
  readonly ops: readonly Take[]
  readonly names: readonly string[]
  readonly at: Micros | undefined
  readonly deadline: Deadline | undefined
}

/** What each of several calls has taken, or why it has failed. */
export type Answers = readonly (readonly Taken[] | StoreError)[]

/** What calls have read and what is to be written, by name. */
export interface Work {
  /** The states, of rows that exist. */
  readonly states: Map<string, State>
  /** When what was changed may be deleted. */
  readonly changed: Map<string, Micros>
}

/** How long a state is kept after it has become that of a new key: its key may be used again soon, or the clock may step back. */
const GRACE: Micros = 60e6

/** The names of the calls, each once, in the order in which all processes lock them: that prevents deadlocks. */
export const namesIn = (calls: readonly Call[]): readonly string[] => {
  const [first] = calls
  // The most common call needs no set.
  if (calls.length === 1 && first?.names.length === 1) return first.names
  return [...new Set(calls.flatMap(({ names }) => names))].sort()
}

/** What each of several calls has taken, op by op. */
export type Takings = readonly Taken[][]

/** Runs calls in order, each all or none, on what was read. `now` is the time of the calls that have none of their own. */
export const runCalls = (calls: readonly Call[], work: Work, now: Micros): Takings =>
  calls.map((call) => runCall(call, work, now))

function runCall({ ops, names, at: given }: Call, work: Work, now: Micros): Taken[] {
  const at = given ?? now
  const outcomes = ops.map(({ step }, i) => runKernel(work.states.get(names[i] as string), at, step))
  const takes = isAllowed(outcomes)
  return outcomes.map((outcome, i) => {
    const { step } = ops[i] as Take
    put(work, names[i] as string, takes ? outcome.taken : outcome.kept, step, { at, now })
    return takenOf(outcome, at, step, takes && !step.peek)
  })
}

/**
 * Runs the ops of calls on one name again, whose state another process has changed, and replaces what they have taken. Returns
 * false if a call does not fit any more that has fitted before.
 */
export function rerunOn(name: string, calls: readonly Call[], takings: Takings, work: Work, now: Micros): boolean {
  for (const [i, { ops, names, at: given }] of calls.entries()) {
    const place = names.indexOf(name)
    if (place < 0) continue
    const { step } = ops[place] as Take
    const taken = takings[i] as Taken[]
    const at = given ?? now
    const takes = isAllowed(taken)
    const outcome = runKernel(work.states.get(name), at, step)
    if (takes && !outcome.allowed) return false
    put(work, name, takes ? outcome.taken : outcome.kept, step, { at, now })
    // A batch that was denied stays denied, and reports why.
    if (takes) taken[place] = takenOf(outcome, at, step, !step.peek)
  }
  return true
}

const isAllowed = (all: readonly { readonly allowed: boolean }[]): boolean => all.every(({ allowed }) => allowed)

/** Keeps a state, if it has changed; its expiry is by the clock of the database, even if the call has a time of its own. */
function put(
  { states, changed }: Work,
  name: string,
  state: State | undefined,
  step: Take['step'],
  { at, now }: Readonly<Record<'at' | 'now', Micros>>,
): void {
  if (state === undefined || step.peek || state === states.get(name)) return
  states.set(name, state)
  changed.set(name, now + Math.max(emptyAt(state, step) - at, 0) + GRACE)
}

/** What each call has taken, or why it has failed: calls that were not sent have expired. */
export function answersOf(calls: readonly Call[], sent: readonly Call[], takings: Takings): Answers {
  if (sent.length === calls.length) return takings
  const known = new Map(sent.map((call, i) => [call, takings[i]]))
  return calls.map((call) => known.get(call) ?? expiredError())
}

/** The calls that their callers still wait for: what others take would have to be refunded. */
export const unexpired = (calls: readonly Call[]): readonly Call[] =>
  calls.filter(({ deadline }) => !isExpired(deadline))

/** Calls in groups that share no name, each in the order of the calls, so that each can be written apart. */
export function apart(calls: readonly Call[]): readonly (readonly Call[])[] {
  const groupOf = new Map<string, Set<Call>>()
  for (const call of calls) {
    const groups = new Set(call.names.flatMap((name) => groupOf.get(name) ?? []))
    const [group = new Set<Call>(), ...others] = groups
    for (const each of [...others].flatMap((other) => [...other])) group.add(each)
    group.add(call)
    for (const { names } of group.size === 1 || others.length > 0 ? group : [call])
      for (const name of names) groupOf.set(name, group)
  }
  const places = new Map(calls.map((call, i) => [call, i]))
  const inOrder = (a: Call, b: Call): number => (places.get(a) as number) - (places.get(b) as number)
  return [...new Set(groupOf.values())].map((group) => [...group].sort(inOrder))
}
