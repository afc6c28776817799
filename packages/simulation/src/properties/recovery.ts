import { StoreError, storeHealth } from '@spillway/core'
import type { Simulation } from '../simulation.ts'

/** After the faults, every circuit is closed, and no refund waits. */
export function circuitsClose({ processes }: Simulation): readonly string[] {
  return processes.flatMap(({ host, handles }) =>
    handles.flat().flatMap(({ store }) => {
      const { circuit, refundsQueued } = storeHealth(store)
      return circuit === 'closed' && refundsQueued === 0
        ? []
        : [`${host.name}: the circuit is ${circuit}, with ${refundsQueued} refunds queued`]
    }),
  )
}

/** Errors of one call, such as while a hash slot moves, open no circuit: the server is healthy. */
export function errorsOpenNoCircuit({ ledger, faults }: Simulation): readonly string[] {
  if (faults.length === 0 || faults.some(({ kind }) => kind !== 'moving slot')) return []
  return ledger.entries
    .filter(
      ({ decision, error }) =>
        (decision?.degraded ?? (error instanceof StoreError ? error : undefined))?.reason === 'open',
    )
    .map(({ verb, host, calledAt }) => `${verb} in ${host.name}, called at ${calledAt} µs, found an open circuit`)
}

/** Commands that a call may cause: itself, a script sent again by its text, and a refund. */
const COMMANDS_PER_CALL = 4

/** Calls cause few commands, whatever fails. */
export function commandsAreBounded({ ledger, servers }: Simulation): readonly string[] {
  const commands = servers.reduce((sum, server) => sum + server.commands, 0)
  const most = COMMANDS_PER_CALL * ledger.entries.length + 100
  return commands > most ? [`${commands} commands for ${ledger.entries.length} calls`] : []
}
