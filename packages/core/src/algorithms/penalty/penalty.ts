import { formatValue, QuotaError } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { checkBoolean, checkWhole } from '../../common/options.ts'
import { micros } from '../../common/time.ts'
import { register } from '../algorithm.ts'
import type { PenaltyOptions } from '../quota-options.ts'
import type { PenaltyQuota } from '../quota-types.ts'
import { penaltyAlgorithm } from './penalty-algorithm.ts'
import { MOST_AFTER, MOST_GROWTH } from './penalty-checks.ts'

const penalized = register('penalty', penaltyAlgorithm)

/**
 * Returns a quota that blocks a key for `block` once it has consumed `after` units `within` a time from the first of them.
 * Each further block is `grow` times as long, `max` at most, unless `forgive` has passed since the last. It allows fewer
 * than `2 × after` units in any `within`, or in any `block` if that is shorter. Throws a `QuotaError` if an option is invalid.
 */
export function penalty(options: PenaltyOptions): PenaltyQuota {
  checkOptions('penalty', options, ['after', 'within', 'block', 'grow', 'max', 'forgive', 'extend'])
  const limit = checkWhole('penalty after', options.after, 1)
  const grow = checkWhole('penalty grow', options.grow ?? 1, 1)
  const block = micros(options.block, 'penalty block')
  checkGrowth(options, grow)
  const max = options.max === undefined ? block : micros(options.max, 'penalty max')
  if (limit > MOST_AFTER) throw invalidPenalty(`after must be at most ${MOST_AFTER}; got ${limit}.`)
  if (max < block) {
    throw invalidPenalty(
      `max must be at least block, ${formatValue(options.block)}; got ${formatValue(options.max)}. Use a longer max.`,
    )
  }
  return penalized(
    Object.freeze({
      kernel: 'penalty',
      limit,
      window: micros(options.within, 'penalty within'),
      block,
      grow,
      max,
      forgive: grow === 1 ? 0 : micros(options.forgive ?? max / 1e3, 'penalty forgive'),
      extend: checkBoolean('penalty extend', options.extend),
    }),
  )
}

function checkGrowth({ max, forgive }: PenaltyOptions, grow: number): void {
  if (grow > MOST_GROWTH) throw invalidPenalty(`grow must be at most ${MOST_GROWTH}; got ${grow}.`)
  if (grow > 1 && max === undefined) throw invalidPenalty("grow needs max, the longest block. Add max: '1d'.")
  if (grow > 1 || (max === undefined && forgive === undefined)) return
  const name = max === undefined ? 'forgive' : 'max'
  throw invalidPenalty(`${name} has no effect while all blocks are equal. Add grow: 2, or leave out ${name}.`)
}

const invalidPenalty = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_QUOTA', `penalty ${problem}`)
