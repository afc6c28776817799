import { divideQuota, type Quota, tokenBucket } from '@spillway/core'
import { beginPostgresFault, POSTGRES_FAULTS } from './postgres/faults.ts'
import { beginRedisFault, REDIS_FAULTS } from './redis/faults.ts'
import type { Random } from './runtime/random.ts'
import type { Fault } from './scenario.ts'
import type { Setting } from './setting.ts'
import type { Simulation } from './simulation.ts'

/** A quota, and others of which none admits more. Of windows only the quota: their counts are those of a length. */
const smallerQuotas = (quota: Quota): readonly Quota[] => {
  if (quota.kernel !== 'bucket') return [quota]
  const { limit, ticksPerUnit, scale, schedule } = quota
  const shares = [2, 3].map((replicas) => divideQuota(quota, { replicas }))
  if (schedule !== null || scale !== 1 || ticksPerUnit % 1000 !== 0) return [quota, ...shares]
  return [quota, ...shares, tokenBucket({ limit: 1, per: ticksPerUnit / 1000, burst: Math.ceil(limit / 3) })]
}

/** Begins a fault; it ends by itself. */
type Begin = (simulation: Simulation, fault: Fault) => void

/**
 * All faults by their names. To add one, add an entry: it gets the simulation and the drawn numbers. If it breaks a
 * property that the documentation does not promise in this case, say so where the property is checked.
 */
const FAULTS: Readonly<Record<string, Begin>> = {
  'slow network': ({ world, linkOf }, { target, micros, size }) => {
    const link = linkOf(target)
    const added = Math.floor(size * 200_000)
    link.baseMicros += added
    world.after(micros, () => {
      link.baseMicros -= added
    })
  },
  'network partition': ({ world, linkOf }, { target, micros }) => {
    linkOf(target).heldUntil = world.now + micros
  },
  'broken connections': ({ clientOf }, { target }) => clientOf(target)?.cut(),
  'lost replies': ({ linkOf }, { target, size }) => {
    linkOf(target).repliesToLose += Math.ceil(size * 3)
  },
  'frozen server': ({ world, serverOf }, { target, micros }) => {
    serverOf(target).frozenUntil = world.now + micros
  },
  'killed server': ({ world, serverOf }, { target, micros }) => {
    const server = serverOf(target)
    server.kill()
    world.after(micros, () => server.restart())
  },
  failover: ({ serverOf, cutAll, stepServer }, { target, micros, size }) => {
    const server = serverOf(target)
    server.failOver(micros)
    stepServer(server, Math.floor((size - 0.5) * 4_000_000))
    cutAll(server)
  },
  eviction: ({ serverOf, world }, { target, size }) => serverOf(target).evict(() => world.random.chance(size)),
  'server clock step': ({ serverOf, stepServer }, { target, size }) =>
    stepServer(serverOf(target), Math.floor((size - 0.5) * 20_000_000)),
  'stalled event loop': ({ hostOf }, { target, micros }) => {
    const host = hostOf(target)
    host.receive(() => host.stall(Math.min(micros, 500_000)))
  },
  'paused process': ({ hostOf }, { target, micros }) => hostOf(target).stall(micros),
  'wall clock step': ({ stepWall }, { target, size }) => stepWall(target, Math.floor((size - 0.5) * 20_000_000)),
  'killed process': ({ restartProcess }, { target, micros }) => restartProcess(target, micros),
  'replaced quota': ({ setting, replaceQuota }, { target, size }) => {
    const quotas = smallerQuotas(setting.quota)
    replaceQuota(target, quotas[Math.floor(size * quotas.length)] as Quota)
  },
}

/** The faults of all servers. Those of one kind of server are drawn by themselves, so that a seed keeps its faults. */
const COMMON_FAULTS: readonly string[] = Object.keys(FAULTS)

/** Faults of processes that hold slots, which are drawn by themselves, too. */
const SLOTS_FAULTS: Readonly<Record<string, Begin>> = {
  'sleeping machine': ({ hostOf }, { target, micros }) => hostOf(target).sleep(micros),
}

export const FAULT_NAMES: readonly string[] = [
  ...COMMON_FAULTS,
  ...POSTGRES_FAULTS,
  ...REDIS_FAULTS,
  ...Object.keys(SLOTS_FAULTS),
]

export function beginFault(simulation: Simulation, fault: Fault): void {
  const { kind } = fault
  const begin =
    FAULTS[kind] ?? SLOTS_FAULTS[kind] ?? (REDIS_FAULTS.includes(kind) ? beginRedisFault : beginPostgresFault)
  begin(simulation, fault)
}

/** Draws the faults of a run: none, or a few of one to three kinds. */
export function drawFaults(
  random: Random,
  setting: Setting,
  names: readonly string[] = COMMON_FAULTS,
): readonly Fault[] {
  if (random.chance(0.25)) return []
  const kinds = Array.from({ length: random.between(1, 3) }, () => random.pick(names))
  return Array.from({ length: random.between(1, 8) }, () => ({
    kind: random.pick(kinds),
    at: random.below(setting.span),
    micros: Math.floor(random.spread(random.pick([20_000, 100_000, 1_000_000, 3_000_000]))),
    size: random.float(),
    target: random.below(1_000),
  })).sort((a, b) => a.at - b.at)
}
