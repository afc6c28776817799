import { beginFault } from './faults.ts'
import { isByStore } from './ledger.ts'
import { GIVEN_UP_IN } from './postgres/connection.ts'
import { propertiesOf } from './properties/index.ts'
import { circuitsClose } from './properties/recovery.ts'
import type { Scenario } from './scenario.ts'
import { Simulation } from './simulation.ts'
import { traceOf } from './trace.ts'
import { begin } from './workload.ts'

/** The result of a run. */
export interface Report {
  readonly seed: number
  /** What was wrong, as `property: detail`. */
  readonly problems: readonly string[]
  /** Calls of limiters that were answered. */
  readonly decisions: number
  /** Simulated time in microseconds. */
  readonly micros: number
  /** Equal for equal runs. */
  readonly digest: number
  /** What happened, one line each. */
  trace(): readonly string[]
}

/** When faults are over and late answers have come, after the acts. */
const SETTLES = 10_000_000
/** How often each process calls the store afterwards, at most, until every circuit has closed. */
const PROBES = 25
/** How often more for each connection of a pool: it may be silent, and an open circuit tries one at a time, 15 s apart. */
const PROBES_PER_CONNECTION = 15
/** How often more for PostgreSQL: a migration waits a minute for a connection that goes silent. */
const PROBES_OF_MIGRATION = 80
const PROBE_INTERVAL = 1_000_000
/** How many silent connections a store closes, and how often more it is called if there are more: TCP ends the others. */
const CLOSED = 4
const PROBES_OF_TCP = GIVEN_UP_IN / PROBE_INTERVAL

/** Runs a scenario, and checks all properties. */
export async function simulate(scenario: Scenario): Promise<Report> {
  const { seed, setting, acts, faults } = scenario
  const simulation = new Simulation(scenario)
  const { world, ledger } = simulation
  for (const act of acts) world.at(act.at, () => begin(simulation, act))
  for (const fault of faults) world.at(fault.at, () => beginFault(simulation, fault))
  const failures: string[] = []
  const onFailure = (error: unknown): void => void failures.push(`unhandled rejection: ${String(error)}`)
  process.on('unhandledRejection', onFailure)
  try {
    const calm = Math.max(...faults.map(({ at, micros }) => at + micros), setting.span) + SETTLES
    await world.runUntil(calm)
    simulation.settledAt = world.now
    simulation.calm()
    const { postgres } = setting
    const isLeftToTcp = faults.filter(({ kind }) => kind === 'silent connections').length > CLOSED
    const ofPostgres = PROBES_OF_MIGRATION + PROBES_PER_CONNECTION * (postgres?.pool ?? 0)
    const most = PROBES + (postgres ? ofPostgres : 0) + (isLeftToTcp ? PROBES_OF_TCP : 0)
    for (let i = 0; i < most && !(await isAnswered(simulation)); i++);
    beginAll(simulation, 'release')
    await world.runUntil(world.now + 5 * PROBE_INTERVAL + expiryOf(setting))
  } catch (error) {
    failures.push(`exception: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    process.off('unhandledRejection', onFailure)
  }
  const broken = Object.entries(propertiesOf(setting.quota)).flatMap(([name, check]) =>
    check(simulation).map((each) => `${name}: ${each}`),
  )
  const decisions = ledger.entries.filter(({ answeredAt }) => answeredAt !== undefined).length
  return {
    seed,
    problems: [...failures, ...broken],
    decisions,
    micros: world.now,
    digest: world.digest,
    trace: () => traceOf(scenario, simulation),
  }
}

/** How long slots that no process renews stay in use. */
const expiryOf = ({ quota }: Scenario['setting']): number => (quota.kernel === 'slots' ? 1.1 * quota.window : 0)

/** Each process peeks into each store; returns whether the stores have answered, and have recovered. */
async function isAnswered(simulation: Simulation): Promise<boolean> {
  const { world, ledger } = simulation
  const before = ledger.entries.length
  beginAll(simulation, 'peek')
  await world.runUntil(world.now + PROBE_INTERVAL)
  return ledger.entries.slice(before).every(isByStore) && circuitsClose(simulation).length === 0
}

function beginAll(simulation: Simulation, does: 'peek' | 'release'): void {
  const at = simulation.world.now
  simulation.processes.forEach(({ handles }, process) => {
    handles.forEach((ofServer, server) => {
      ofServer.forEach((_, handle) => {
        begin(simulation, { ...PROBE, does, at, process, handle, server })
      })
    })
  })
}

const PROBE = { key: 0, cost: 1, times: 1, maxWaitMs: 0, laterMicros: 0, actual: 0 }
