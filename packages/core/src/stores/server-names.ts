import { evictOldest } from '../common/eviction.ts'
import { processState } from '../common/process-state.ts'
import { loggerOf, warnOnce } from '../common/warn.ts'
import { comparisonOf, conflictOf, idOf, type Parts, type Registration, warnOfOneCount } from './registry.ts'
import { scopeOf } from './store-kinds.ts'

/** The most names on all servers: a program that generates names must not fill the memory. */
const MOST_NAMES = 1_000

/** What identifies the database of a client, as its options say; undefined if that is not known, or the client is closed. */
export type ServerOf = () => string | undefined

interface Named {
  /** A client that is used no more is collected, with its limiters. */
  readonly owner: WeakRef<object>
  readonly parts: Parts
}

/** The latest limiter of each name on each server. */
const namedOn = (): Map<string, Named> => processState('names on servers', () => new Map())

/**
 * Compares limiters on several clients of one server: their states are the same, so they count as one. They may be
 * one application that is built twice, so this warns where one client has an error.
 */
export function setServerOf(owner: object, serverOf: ServerOf): void {
  const comparison = comparisonOf(owner)
  comparison.serverOf = () => {
    try {
      return serverOf()
    } catch {
      return undefined // a client with options of its own kind must work all the same
    }
  }
  comparison.compare = (registration, parts) => {
    const server = comparison.serverOf?.()
    if (server === undefined) return
    const id = `${server}\n${idOf(registration)}`
    const other = namedOn().get(id)
    const others = other?.owner.deref()
    if (other !== undefined && others !== undefined && others !== owner && comparisonOf(others).serverOf?.() === server)
      warnOfTwoClients(registration, parts, other.parts)
    namedOn().delete(id)
    namedOn().set(id, { owner: new WeakRef(owner), parts })
    evictOldest(namedOn(), MOST_NAMES)
  }
}

function warnOfTwoClients(registration: Registration, parts: Parts, others: Parts): void {
  const conflict = conflictOf(registration.name, parts, others)
  if (conflict === undefined) warnOfOneCount(registration, parts, others)
  else warnOnce(loggerOf(scopeOf(registration.store).owner), 'WARN_SPILLWAY_SAME_NAME', '', conflict)
}
