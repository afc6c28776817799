import type { State } from '@spillway/core'
import type { Entry, Ledger, Write } from '../ledger.ts'
import { START } from '../runtime/world.ts'
import type { StateServer } from '../state-server.ts'
import { groupBy } from './groups.ts'

type Groups<T> = ReadonlyMap<string, readonly T[]>

/** What `of` makes of a ledger, once for all properties: they are checked when the run has ended. */
function oncePerLedger<T>(of: (ledger: Ledger) => T): (ledger: Ledger) => T {
  const known = new WeakMap<Ledger, T>()
  return (ledger) => {
    const made = known.get(ledger) ?? of(ledger)
    known.set(ledger, made)
    return made
  }
}

/** The writes of a state in a server. */
export const writesOf: (ledger: Ledger) => (server: { readonly name: string }, name: string) => readonly Write[] =
  oncePerLedger(({ writes }) => {
    const groups = groupBy(writes, ({ server, name }) => `${server.name} ${name}`)
    return (server, name) => groups.get(`${server.name} ${name}`) ?? []
  })

/** The calls for each state of a server, by its name. */
export const entriesOf = (ledger: Ledger, server: StateServer): Groups<Entry> => entriesBy(ledger)(server)

const entriesBy = oncePerLedger(({ entries }) => {
  const groups = new Map<StateServer, Groups<Entry>>()
  return (server: StateServer): Groups<Entry> => {
    const ofServer = (): readonly Entry[] => entries.filter((entry) => entry.server === server)
    const made = groups.get(server) ?? groupBy(ofServer(), ({ name }) => name)
    groups.set(server, made)
    return made
  }
})

/** What a server's clock showed. */
export function clockOf({ steps }: Ledger, server: object, at: number): number {
  let clock = START + at
  for (const step of steps) if (step.of === server && step.at <= at) clock += step.micros
  return clock
}

/** The states of a key at a time: one, or several if it was written several times. */
export function statesAt(writes: readonly Write[], time: number): readonly (State | undefined)[] {
  const last = writes.findLast(({ at }) => at <= time)
  if (last?.at !== time) return [last?.state]
  return writes.filter(({ at }) => at === time).map(({ state }) => state)
}
