import { type CallDeadline, unlessExpired } from './deadline.ts'
import { all, andThen, type MaybePromise } from './maybe-promise.ts'
import { deadlineOf, giveBackPart, type Part } from './part.ts'
import type { Ask } from './policy.ts'
import { isSync } from './store.ts'

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** The deadline of each part of what begins when a remote store is first asked; in-memory stores come first, and need none. */
export type Deadlines = (part: readonly Ask[]) => CallDeadline | undefined

export function deadlines(): Deadlines {
  let startMs: number | undefined
  return (part) => {
    if (isSync((part[0] as Ask).policy.source.store)) return undefined
    startMs ??= performance.now()
    return deadlineOf(part, startMs)
  }
}

type Answer = (part: readonly Ask[]) => MaybePromise<Part>

/** Asks part after part, until one denies: those before it are given back, and those after it say what they would. */
export function inTurn(
  parts: readonly (readonly Ask[])[],
  answer: Answer,
  peek: Answer,
  deadlineFor: Deadlines,
): MaybePromise<readonly Part[]> {
  const undo = (part: Part): MaybePromise<Part | undefined> => giveBackPart(part, deadlineFor(part.asks))
  const look = (part: readonly Ask[]): MaybePromise<Part | undefined> => {
    const seen = peek(part)
    return seen instanceof Promise ? unlessExpired(seen, deadlineFor(part) as CallDeadline) : seen
  }
  const from = (at: number, taken: readonly Part[]): MaybePromise<readonly Part[]> => {
    const asks = parts[at]
    if (asks === undefined) return taken
    const goOn = (part: Part): MaybePromise<readonly Part[]> => {
      if (part.decisions.every(({ allowed }) => allowed)) return from(at + 1, [...taken, part])
      const others = [...taken.map(undo), ...parts.slice(at + 1).map(look)]
      return andThen(all(others), (told) => [part, ...told.filter((each) => each !== undefined)])
    }
    const fail = (error: unknown): never => {
      // The caller does not wait for the refunds: its deadline may have passed.
      for (const part of taken) void undo(part)
      throw error
    }
    const part = answer(asks)
    return part instanceof Promise ? part.then(goOn, fail) : goOn(part)
  }
  return from(0, [])
}
