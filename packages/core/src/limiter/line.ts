import { LinkedList, type ListItem } from '../common/linked-list.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { oncePer } from '../common/once-per.ts'
import { monotonicMs } from '../common/time.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import type { Store } from '../stores/store.ts'
import { registerWaiters, type Waiters } from './waiters.ts'

// A window has no turns, nor has a blocked key: the callers in this process that wait for the same states wait in line.

const linesOf = oncePer('lines', (_store: Store) => new Map<string, Line>())

/** Equal for checks of the same states. */
export const lineName = (checks: readonly PolicyCheck[]): string =>
  JSON.stringify(checks.map(({ policy, key }) => [policy.name, key]))

const linesFor = (checks: readonly PolicyCheck[]): Map<string, Line> => linesOf(configOf(checks).store)

/** Whether callers in this process wait for the same states. */
export function hasLine(checks: readonly PolicyCheck[]): boolean {
  const known = linesFor(checks)
  return known.size > 0 && known.has(lineName(checks))
}

/** Joins the line of the callers in this process that wait for the same states: at its end, or in front of all. */
export function joinLine(checks: readonly PolicyCheck[], isInFront = false): Place {
  const known = linesFor(checks)
  const name = lineName(checks)
  let line = known.get(name)
  if (line === undefined) {
    line = new Line()
    const unregister = registerWaiters(line, checks)
    const made = line
    line.onEmpty = () => {
      if (known.get(name) === made) known.delete(name)
      unregister()
    }
    known.set(name, line)
  }
  return line.join(isInFront)
}

/** A caller's place in a line. */
export interface Place {
  /** Whether none is ahead. */
  readonly isFirst: () => boolean
  /** Calls back when the caller should look again: it is the first now, or the states have changed. Returns how to stop. */
  readonly onCall: (callback: () => void) => () => void
  /** Notes within what time the caller looks again, if it is the first. */
  readonly expect: (millis: number) => void
  /**
   * Removes those ahead who do not look again when they should, and resolves with whether none is ahead then. Workers stop a
   * request whose client has left: it then never leaves the line.
   */
  readonly passLost: () => Promise<boolean>
  readonly leave: () => void
}

interface Member {
  isInLine: boolean
  /** Whether it has been called, and has not looked again yet. */
  isCalled: boolean
  /** Undefined while it does not wait. */
  callback: (() => void) | undefined
  /** When it looks again at the latest, if it is the first. */
  dueMs: number
}

/** How late a caller looks again that is not lost: timers are late while the event loop is blocked. */
const LATEST_MS = 1_000

const isLost = ({ isCalled, callback, dueMs }: Member): boolean =>
  (isCalled && callback !== undefined) || monotonicMs() > dueMs + LATEST_MS

function call(member: Member): void {
  member.isCalled = true
  member.callback?.()
}

class Line implements Waiters {
  readonly haveTurns = false
  readonly #members = new LinkedList<Member>()
  onEmpty = (): void => {}

  join(isInFront: boolean): Place {
    const member: Member = { isInLine: true, isCalled: false, callback: undefined, dueMs: Infinity }
    const join = (before?: ListItem<Member>): ListItem<Member> => this.#members.addAfter(before, member)
    let item = join(isInFront ? undefined : this.#members.last)
    const isFirst = (): boolean => {
      // One who has been taken for lost, as its store answered late, is in front of all others again.
      if (!member.isInLine) item = join()
      member.isInLine = true
      return this.#members.first === item
    }
    return {
      isFirst,
      onCall: (callback) => {
        member.callback = callback
        if (member.isCalled) callback()
        return () => {
          member.callback = undefined
          member.isCalled = false
        }
      },
      expect: (millis) => {
        member.dueMs = monotonicMs() + millis
      },
      passLost: async () => {
        while (!isFirst() && this.#passFirst()) await new Promise<void>((resolve) => setLongTimeout(0, resolve))
        return isFirst()
      },
      leave: () => {
        if (!member.isInLine) return
        const wasFirst = isFirst()
        this.#remove(item)
        if (this.#members.first === undefined) this.onEmpty()
        else if (wasFirst) call(this.#members.first.value)
      },
    }
  }

  /** Removes the first if it is lost, and calls the next. */
  #passFirst(): boolean {
    const { first } = this.#members
    if (!(first && isLost(first.value))) return false
    this.#remove(first)
    if (this.#members.first) call(this.#members.first.value)
    return true
  }

  #remove(item: ListItem<Member>): void {
    this.#members.remove(item)
    item.value.isInLine = false
  }

  hold(): { readonly resume: () => void } {
    // It looks again once those held go on.
    if (this.#members.first) call(this.#members.first.value)
    return { resume: this.join(true).leave }
  }
}
