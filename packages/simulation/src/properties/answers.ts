import { StoreError } from '@spillway/core'
import type { Entry } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'

const shown = ({ verb, host, key, cost, calledAt }: Entry): string =>
  `${verb} ${cost} of ${key} in ${host.name}, called at ${calledAt} µs,`

/**
 * Every call is answered, and none later than its deadline or its wait. Time in which the process stood still is not
 * counted.
 */
export function everyCallIsAnswered({ ledger }: Simulation): readonly string[] {
  return ledger.entries.flatMap((entry) => {
    const { host, calledAt, answeredAt, mayLast, stalled } = entry
    if (answeredAt === undefined) return host.isAlive ? [`${shown(entry)} was never answered`] : []
    const lasted = answeredAt - calledAt
    return lasted > mayLast + 3 * stalled ? [`${shown(entry)} took ${lasted} µs, and may take ${mayLast}`] : []
  })
}

/** A call fails only by an error that the documentation names. */
export function errorsAreStoreErrors({ ledger }: Simulation): readonly string[] {
  return ledger.entries.flatMap((entry) => {
    const { error, decision } = entry
    const isExpected = error === undefined || decision || error instanceof StoreError || isAbort(error)
    return isExpected ? [] : [`${shown(entry)} failed: ${String(error)}`]
  })
}

/** Whether a call failed because its caller left. */
export const isAbort = (error: unknown): boolean => error instanceof Error && error.message === 'The caller left.'
