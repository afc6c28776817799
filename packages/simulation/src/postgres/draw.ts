import { drawFaults } from '../faults.ts'
import type { Random } from '../runtime/random.ts'
import type { Scenario } from '../scenario.ts'
import { POSTGRES_FAULTS } from './faults.ts'

/** Makes of a run one with PostgreSQL servers, or with one beside Redis. */
export function onPostgres(scenario: Scenario, random: Random): Scenario {
  const all = Array.from({ length: scenario.setting.servers }, (_, i) => i)
  const some = all.filter(() => random.chance(0.6))
  const postgres = {
    servers: some.length > 0 ? some : all,
    pool: random.pick([1, 2, 4, 10]),
    deadlineMs: random.pick([1_000, 1_000, 200, 50]),
  }
  const setting = { ...scenario.setting, postgres }
  const added = random.chance(0.3) ? [] : drawFaults(random, setting, POSTGRES_FAULTS)
  const faults = [...scenario.faults, ...added].sort((a, b) => a.at - b.at)
  return { ...scenario, setting, faults }
}
