import { drawActs } from './act.ts'
import { drawFaults } from './faults.ts'
import { randomOf } from './runtime/random.ts'
import type { Scenario } from './scenario.ts'
import { drawSetting } from './setting.ts'
import { themed } from './themes.ts'

/** The run that a seed stands for. */
export function scenarioOf(seed: number): Scenario {
  const random = randomOf(seed)
  const setting = drawSetting(random)
  const scenario = { seed, setting, acts: drawActs(random, setting), faults: drawFaults(random, setting) }
  return themed(scenario, random.fork())
}
