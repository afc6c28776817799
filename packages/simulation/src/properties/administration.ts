import type { Quota, State } from '@spillway/core'
import { decide, runKernel, stepFor, takenOf } from '@spillway/core/internal'
import type { Entry, Write } from '../ledger.ts'
import { RedisServer } from '../redis/server.ts'
import type { Simulation } from '../simulation.ts'
import { clockOf, entriesOf, statesAt, writesOf } from './states.ts'

/** A sweep deletes only states that are as good as none, by each quota of the key. */
export function sweepsRemoveNothing({ ledger }: Simulation): readonly string[] {
  return ledger.sweeps.flatMap(({ server, name, clock, state }) => {
    const quotas = new Set(ledger.entries.filter((entry) => entry.name === name).map(({ quota }) => quota))
    return [...quotas].some((quota) => isUsed(quota, state, clock))
      ? [`a sweep of ${server.name} deleted ${name}: ${JSON.stringify(state)} at ${clock}`]
      : []
  })
}

/**
 * After a reset that has not failed, a key has no state at some time since the call, or one that is as good as none; when it is
 * answered, if all other calls have been made before it in an order that the connection keeps.
 */
export function resetsDeleteStates(simulation: Simulation): readonly string[] {
  const { ledger } = simulation
  const writes = writesOf(ledger)
  return ledger.entries.flatMap((entry) => {
    const { verb, error, name, server, quota, calledAt, answeredAt, host } = entry
    if (verb !== 'reset' || error !== undefined || answeredAt === undefined) return []
    const clock = clockOf(ledger, server, answeredAt)
    const known = writes(server, name)
    const since = known.filter(({ at }) => at >= calledAt && at <= answeredAt).map(({ state }) => state)
    const states = isLast(entry, simulation)
      ? statesAt(known, answeredAt).slice(-1)
      : [...statesAt(known, calledAt), ...since]
    return states.every((state) => isUsed(quota, state, clock))
      ? [`a reset of ${name} in ${host.name}, answered at ${answeredAt} µs, left its state in ${server.name}`]
      : []
  })
}

/** Calls that send one command, in the tick in which they are made. */
const IN_ORDER: readonly string[] = ['consume', 'peek', 'refund', 'charge', 'upTo']

/** Whether the calls before a reset were made by its store, and nothing has changed their order since. */
function isLast(reset: Entry, { ledger, setting, faults }: Simulation): boolean {
  const { server, name, host, handle, calledAt, answeredAt = 0 } = reset
  if (setting.connections > 1 || faults.length > 0 || !(server instanceof RedisServer)) return false
  const entries = entriesOf(ledger, server).get(name) ?? []
  const place = entries.indexOf(reset)
  return entries.every((entry, i) => {
    if (entry === reset || entry.calledAt > answeredAt) return true
    const isOver = entry.verb === 'reset' && entry.error === undefined && (entry.answeredAt ?? calledAt) < calledAt
    return isOver || (IN_ORDER.includes(entry.verb) && entry.host === host && entry.handle === handle && i < place)
  })
}

/**
 * A list shows of each key what remained of its quota at some time while it was asked for, and leaves out no key that had
 * used units all the time. Lists during which the server's clock is set are not checked.
 */
export function listsAreTrue({ ledger, setting }: Simulation): readonly string[] {
  const writes = writesOf(ledger)
  const names = Array.from({ length: setting.keys }, (_, i) => `key ${i}`)
  return ledger.entries.flatMap((entry) => {
    const { listed, server, quota, calledAt, answeredAt = 0, host } = entry
    const isStepped = ledger.steps.some(({ of, at }) => of === server && at >= calledAt && at <= answeredAt)
    if (listed === undefined || isStepped) return []
    const remainingAt = (state: State | undefined, at: number): number =>
      remainingOf(quota, state, clockOf(ledger, server, at))
    return names.flatMap((key) => {
      const known = momentsOf(writes(server, server.nameOf(key)), entry)
      const all = known.map(({ state, at }) => remainingAt(state, at))
      const decision = listed.keys.find((each) => each.key === key)?.decision
      const shown = decision?.remaining ?? (listed.isComplete ? Math.max(...all) : undefined)
      const limit = decision === undefined ? remainingAt(undefined, calledAt) : 0
      const isTrue = shown === undefined || (shown >= Math.max(Math.min(...all), limit) && shown <= Math.max(...all))
      return isTrue ? [] : [`${host.name} listed ${shown} of ${key} at ${answeredAt} µs; it was of ${all.join(', ')}`]
    })
  })
}

/** The states of a key while it was asked for, each when it began and when it ended. */
function momentsOf(
  known: readonly Write[],
  { calledAt, answeredAt = 0 }: Entry,
): readonly { readonly state: State | undefined; readonly at: number }[] {
  const first = statesAt(known, calledAt).map((state) => ({ state, at: calledAt }))
  const states = [...first, ...known.filter(({ at }) => at > calledAt && at <= answeredAt)]
  return states.flatMap(({ state, at }, i) => [
    { state, at },
    { state, at: states[i + 1]?.at ?? answeredAt },
  ])
}

function remainingOf(quota: Quota, state: State | undefined, clock: number): number {
  const step = stepFor(quota, 'peek', 1)
  return decide('', quota, 1, step, takenOf(runKernel(state, clock, step), clock, step, false)).remaining
}

const isUsed = (quota: Quota, state: State | undefined, clock: number): boolean =>
  remainingOf(quota, state, clock) < remainingOf(quota, undefined, clock)
