import type { Client } from '../clients.ts'
import type { Random } from '../runtime/random.ts'
import type { Fault, Scenario } from '../scenario.ts'
import type { Simulation } from '../simulation.ts'
import { RedisServer } from './server.ts'

/** What a fault is of: a server until a time, and a client. */
interface Target {
  readonly server: RedisServer
  readonly client: Client | undefined
  readonly until: number
  readonly micros: number
}

/** Faults of Redis, which no scenario draws among the others: a seed keeps its faults. */
const FAULTS: Readonly<Record<string, (target: Target) => void>> = {
  'moving slot': ({ server, until }) => {
    server.movesUntil = until
  },
  'silent connection': ({ client, micros }) => client?.silence?.(micros),
}

export const REDIS_FAULTS: readonly string[] = Object.keys(FAULTS)

export function beginRedisFault({ world, serverOf, clientOf }: Simulation, { kind, target, micros }: Fault): void {
  const server = serverOf(target)
  if (!(server instanceof RedisServer)) return
  FAULTS[kind]?.({ server, client: clientOf(target), until: world.now + micros, micros })
}

/** Makes broken connections of some runs silent ones. */
export function silenced(scenario: Scenario, random: Random): Scenario {
  if (random.chance(0.9)) return scenario
  const faults = scenario.faults.map((fault) =>
    fault.kind === 'broken connections' ? { ...fault, kind: 'silent connection' } : fault,
  )
  return { ...scenario, faults }
}
