import { register } from '../../algorithms/algorithm.ts'
import type { SlotsQuota } from '../../algorithms/quota-types.ts'
import { slotsAlgorithm } from '../../algorithms/slots/slots-algorithm.ts'
import { MOST_SLOTS } from '../../algorithms/slots/slots-checks.ts'
import { QuotaError } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { checkWhole } from '../../common/options.ts'
import { type Duration, micros } from '../../common/time.ts'
import { acquiring } from './acquire.ts'
import { slots } from './index.ts'

/** Options of `inFlight`. */
export interface InFlightOptions {
  /**
   * How long the slots of a process that has died stay in use. A process that lives renews its slots three times as often.
   * @default `'30s'`
   */
  readonly ttl?: Duration
}

const inUse = register('slots', { ...slotsAlgorithm, feature: slots, verbsOf: acquiring })

/**
 * Returns a quota of slots: how many requests of a key are in flight at once, 10,000 at most. A request holds its slot until its
 * response has ended. Throws a `QuotaError` if an argument is invalid.
 */
export function inFlight(limit: number, options: InFlightOptions = {}): SlotsQuota {
  checkOptions('inFlight', options, ['ttl'])
  checkWhole('inFlight limit', limit, 0)
  const window = micros(options.ttl ?? '30s', 'inFlight ttl')
  if (limit <= MOST_SLOTS) return inUse(Object.freeze({ kernel: 'slots', limit, window }))
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `inFlight limit must be at most ${MOST_SLOTS}, because a store reads all slots of a key; got ${limit}.`,
  )
}
