import type { Fault } from '../scenario.ts'
import type { Simulation } from '../simulation.ts'
import { RedisServer } from './server.ts'

type Begin = (server: RedisServer, until: number) => void

/** Faults of Redis, which only timed themes draw. */
const FAULTS: Readonly<Record<string, Begin>> = {
  'moving slot': (server, until) => {
    server.movesUntil = until
  },
}

export const REDIS_FAULTS: readonly string[] = Object.keys(FAULTS)

export function beginRedisFault({ world, serverOf }: Simulation, { kind, target, micros }: Fault): void {
  const server = serverOf(target)
  if (server instanceof RedisServer) FAULTS[kind]?.(server, world.now + micros)
}
