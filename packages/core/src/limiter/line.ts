import { oncePer } from '../common/once-per.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import type { Store } from '../stores/store.ts'

// A window has no turns, nor has a blocked key: the callers in this process that wait for the same states wait in line.

const linesOf = oncePer('lines', (_store: Store) => new Map<string, Promise<void>>())

const lineName = (checks: readonly PolicyCheck[]): string =>
  JSON.stringify(checks.map(({ policy, key }) => [policy.name, key]))

const linesFor = (checks: readonly PolicyCheck[]): Map<string, Promise<void>> => linesOf(configOf(checks).store)

/** Whether callers in this process wait for the same states. */
export function hasLine(checks: readonly PolicyCheck[]): boolean {
  const known = linesFor(checks)
  return known.size > 0 && known.has(lineName(checks))
}

interface Place {
  /** Resolves when the callers ahead have left; undefined if there are none. */
  readonly ahead: Promise<void> | undefined
  /** Waits no longer for those ahead. Workers stop a request whose client has left: it then never leaves the line. */
  readonly giveUp: () => void
  readonly leave: () => void
}

/** Joins the line of the callers in this process that wait for the same states. */
export function joinLine(checks: readonly PolicyCheck[]): Place {
  const known = linesFor(checks)
  const name = lineName(checks)
  const ahead = known.get(name)
  const [left, end] = signal()
  const [lost, giveUp] = signal()
  const toLeft = (): Promise<void> => left
  const last = ahead === undefined ? left : Promise.race([ahead, lost]).then(toLeft, toLeft)
  known.set(name, last)
  const leave = (): void => {
    end()
    if (known.get(name) === last) known.delete(name)
  }
  return { ahead, giveUp, leave }
}

/** A promise, and the function that resolves it. */
function signal(): readonly [promise: Promise<void>, resolve: () => void] {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return [promise, resolve]
}
