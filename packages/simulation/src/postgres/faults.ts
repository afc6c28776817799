import type { Fault } from '../scenario.ts'
import type { Simulation } from '../simulation.ts'
import type { Pool } from './pool.ts'
import { PostgresServer } from './server.ts'

/** What a fault hits: drawn by its target. */
interface Hit {
  readonly now: number
  readonly server: PostgresServer
  readonly pool: Pool
}

type Begin = (hit: Hit, fault: Fault) => void

/** Faults of PostgreSQL, which no other server has. */
const FAULTS: Readonly<Record<string, Begin>> = {
  'locked rows': ({ server, now }, { micros }) => server.lockRows(now + micros),
  'serialization failures': ({ server, now }, { micros, size }) =>
    server.failNext('40001', Math.ceil(size * 12), now + micros),
  'cancelled statements': ({ server, now }, { micros, size }) =>
    server.failNext('57014', Math.ceil(size * 4), now + micros),
  'closed sessions': ({ pool }) => pool.terminate(),
  'silent connections': ({ pool }, { size }) => pool.silence(Math.ceil(size * 4)),
  'starved pool': ({ pool }, { micros, size }) => pool.starve(Math.ceil(size * 12), micros),
  'read-only server': ({ server, now }, { micros }) => {
    server.readOnlyUntil = now + micros
  },
}

export const POSTGRES_FAULTS: readonly string[] = Object.keys(FAULTS)

export function beginPostgresFault({ world, servers, processes }: Simulation, fault: Fault): void {
  const pools = processes.flatMap(({ clients }) => clients.flatMap(({ pool }) => pool ?? []))
  const own = servers.filter((server) => server instanceof PostgresServer)
  const server = own[fault.target % own.length]
  const pool = pools[fault.target % pools.length]
  if (server && pool) FAULTS[fault.kind]?.({ now: world.now, server, pool }, fault)
}
