import type { Planted } from '../defect.ts'
import { CORE_DEFECTS } from './core.ts'
import { POSTGRES_DEFECTS } from './postgres.ts'
import { REDIS_DEFECTS } from './redis.ts'
import { SLOTS_DEFECTS } from './slots.ts'
import { WRAPPERS_DEFECTS } from './wrappers.ts'

/** Defects that this project has had or could have, each of which a seed must find. */
export const PLANTED: readonly Planted[] = [
  ...CORE_DEFECTS,
  ...WRAPPERS_DEFECTS,
  ...REDIS_DEFECTS,
  ...POSTGRES_DEFECTS,
  ...SLOTS_DEFECTS,
]
