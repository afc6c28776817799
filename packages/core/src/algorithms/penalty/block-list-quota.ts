import { MOST_UNITS } from '../../kernels/penalty.ts'
import { register } from '../algorithm.ts'
import type { PenaltyQuota } from '../quota-types.ts'
import { penaltyAlgorithm } from './penalty-algorithm.ts'

/**
 * The quota of a limiter's block list: only a block set by hand uses it up. Requests look at it in the step that consumes
 * their units, and write nothing.
 */
export const BLOCK_LIST: PenaltyQuota = /* @__PURE__ */ register(
  'penalty',
  penaltyAlgorithm,
)({
  kernel: 'penalty',
  limit: MOST_UNITS,
  window: 1,
  block: 0,
  grow: 1,
  max: 0,
  forgive: 0,
  extend: false,
})
