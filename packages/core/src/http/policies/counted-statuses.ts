import { formatValue, QuotaError } from '../../common/errors.ts'
import { checked, type MaybePromise } from '../../common/maybe-promise.ts'
import { checkCounts } from '../requests/returned.ts'
import type { PolicyOptions } from './policy-options.ts'

/** Reports whether a response status counts; undefined if all do. */
export function countedStatuses(
  countIf: PolicyOptions<never>['countIf'],
): ((status: number) => MaybePromise<boolean>) | undefined {
  if (countIf === undefined) return undefined
  if (typeof countIf === 'function') return checked(countIf, checkCounts)
  if (Array.isArray(countIf) && countIf.length > 0 && countIf.every(isStatus)) {
    return (status) => countIf.includes(status)
  }
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `countIf must be a list of statuses such as [401], or a function such as (status) => status === 401; got ${formatValue(countIf)}.`,
  )
}

const isStatus = (status: unknown): boolean =>
  Number.isInteger(status) && (status as number) >= 100 && (status as number) <= 599
