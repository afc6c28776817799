// First: modules read the timers when they are loaded.
import './runtime/globals.ts'

export type { Planted } from './defect.ts'
export { POSTGRES_SEEDS, SLOTS_SEEDS, scenarioOf } from './draw.ts'
export { FAULT_NAMES } from './faults.ts'
export { PLANTED } from './planted/index.ts'
export { realNow } from './runtime/globals.ts'
export type { Scenario } from './scenario.ts'
export { brokenBy, shrink } from './shrink.ts'
export { type Report, simulate } from './simulate.ts'
