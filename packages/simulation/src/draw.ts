import { drawActs } from './act.ts'
import { administered } from './administration.ts'
import { drawFaults } from './faults.ts'
import { onPostgres } from './postgres/draw.ts'
import { silenced } from './redis/faults.ts'
import { randomOf } from './runtime/random.ts'
import type { Scenario } from './scenario.ts'
import { drawSetting } from './setting.ts'
import { withSlots } from './slots/draw.ts'
import { themed } from './themes.ts'
import { timed } from './timed-themes.ts'

/** The first seed whose run has PostgreSQL servers. Those before have only Redis. */
export const POSTGRES_SEEDS: number = 2 ** 31

/** The first seed whose run has slots, in servers of either kind. */
export const SLOTS_SEEDS: number = 3 * 2 ** 30

/** The run that a seed stands for. */
export function scenarioOf(seed: number): Scenario {
  const random = randomOf(seed)
  const setting = drawSetting(random)
  if (seed >= SLOTS_SEEDS) return withSlots(seed, setting, random)
  const scenario = { seed, setting, acts: drawActs(random, setting), faults: drawFaults(random, setting) }
  const made = themed(scenario, random.fork())
  const run = seed < POSTGRES_SEEDS ? made : onPostgres(made, random.fork())
  const all = administered(run, random.fork())
  return seed < POSTGRES_SEEDS ? silenced(timed(all, random.fork()), random.fork()) : all
}
