import { checkOptions } from '../../common/guess.ts'
import { type Duration, LONGEST, type Micros, micros } from '../../common/time.ts'
import type { RateOptions, TokenBucketOptions } from '../quota-options.ts'
import type { BucketQuota } from '../quota-types.ts'
import { type RateNumbers, rateNumbers, refilling } from './bucket-quota.ts'

/** The quota of `limit` units per `per`; `what` names the function in errors. */
export function rateOf(what: string, limit: number, per: Duration, options: RateOptions = {}): BucketQuota {
  checkOptions(what, options, ['burst'])
  return refilling(what, numbersOf(what, { ...options, limit, per }))
}

/** The numbers that each token bucket has. */
export function numbersOf(what: string, options: Pick<TokenBucketOptions, 'limit' | 'per' | 'burst'>): RateNumbers {
  const { limit, burst } = options
  const per = micros(options.per, `${what} per`)
  return rateNumbers(what, limit, per, burst, sameRate(limit, options.per, per))
}

/** The largest denominator for which the same rate in whole units is proposed. */
const MOST_DENOMINATOR = 1e4

/** How to write a rate of a fraction of a unit: whole units in a longer time. Empty if there is no short way. */
function sameRate(limit: number, per: Duration, perMicros: Micros): string {
  if (typeof limit !== 'number' || !(limit > 0 && limit < 1e6) || Number.isInteger(limit)) return ''
  for (let times = 2; times <= MOST_DENOMINATOR && perMicros * times <= LONGEST; times++) {
    const units = Math.round(limit * times)
    if (units < 1 || units / times !== limit) continue
    const unit = String(per).replace(/[\d.]/g, '')
    const longer = `${Number((Number.parseFloat(String(per)) * times).toFixed(9))}${unit}`
    const burst = Math.max(Math.round(limit), 1)
    const bursts = burst === units ? '' : `, burst: ${burst}`
    return `For this rate, write tokenBucket({ limit: ${units}, per: ${unit === '' ? longer : `'${longer}'`}${bursts} }).`
  }
  return ''
}
