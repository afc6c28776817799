import type { State } from '@spillway/core'
import type { Ledger, Write } from '../ledger.ts'
import { START } from '../runtime/world.ts'
import { groupBy } from './groups.ts'

/** The writes of a state in a server. */
export function writesOf({ writes }: Ledger): (server: { readonly name: string }, name: string) => readonly Write[] {
  const groups = groupBy(writes, ({ server, name }) => `${server.name} ${name}`)
  return (server, name) => groups.get(`${server.name} ${name}`) ?? []
}

/** What a server's clock showed. */
export const clockOf = ({ steps }: Ledger, server: object, at: number): number =>
  steps.filter((step) => step.of === server && step.at <= at).reduce((sum, { micros }) => sum + micros, START + at)

/** The states of a key at a time: one, or several if it was written several times. */
export function statesAt(writes: readonly Write[], time: number): readonly (State | undefined)[] {
  const last = writes.findLast(({ at }) => at <= time)
  if (last?.at !== time) return [last?.state]
  return writes.filter(({ at }) => at === time).map(({ state }) => state)
}
