import { LinkedList, type ListItem } from '../common/linked-list.ts'
import { oncePer } from '../common/once-per.ts'
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
    line.onEmpty = () => {
      known.delete(name)
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
  /** Waits no longer for the first. Workers stop a request whose client has left: it then never leaves the line. */
  readonly giveUp: () => void
  readonly leave: () => void
}

interface Member {
  isInLine: boolean
  call(): void
}

class Line implements Waiters {
  readonly haveTurns = false
  readonly #members = new LinkedList<Member>()
  onEmpty = (): void => {}

  join(isInFront: boolean): Place {
    let isCalled = false
    let callback = (): void => {}
    const member: Member = {
      isInLine: true,
      call: () => {
        isCalled = true
        callback()
      },
    }
    const item = this.#members.addAfter(isInFront ? undefined : this.#members.last, member)
    const isFirst = (): boolean => !member.isInLine || this.#members.first === item
    return {
      isFirst,
      onCall: (called) => {
        callback = called
        if (isCalled) called()
        return () => {
          callback = () => {}
          isCalled = false
        }
      },
      giveUp: () => {
        if (this.#members.first && !isFirst()) this.#remove(this.#members.first)
        while (this.#members.first && !isFirst()) this.#remove(this.#members.first).call()
      },
      leave: () => {
        if (!member.isInLine) return
        const wasFirst = isFirst()
        this.#remove(item)
        if (this.#members.first === undefined) this.onEmpty()
        else if (wasFirst) this.#members.first.value.call()
      },
    }
  }

  #remove(item: ListItem<Member>): Member {
    this.#members.remove(item)
    item.value.isInLine = false
    return item.value
  }

  hold(): { readonly resume: () => void } {
    // It looks again once those held go on.
    this.#members.first?.value.call()
    return { resume: this.join(true).leave }
  }
}
