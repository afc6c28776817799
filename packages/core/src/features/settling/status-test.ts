import { invalidOption } from '../../common/errors.ts'
import { type Awaitable, checked, type MaybePromise } from '../../common/maybe-promise.ts'

/** Response statuses: a list of them, or a function that reports whether a status is one of them. */
export type Statuses = readonly number[] | ((status: number) => Awaitable<boolean>)

/** Compiles statuses into a test of a status; undefined if the option is not set. `check` checks what a function returns. */
export function statusTest(
  option: 'countIf' | 'refundIf',
  statuses: Statuses | undefined,
  check: (returned: unknown) => boolean,
): ((status: number) => MaybePromise<boolean>) | undefined {
  if (statuses === undefined) return undefined
  if (typeof statuses === 'function') return checked(statuses, check)
  if (Array.isArray(statuses) && statuses.length > 0 && statuses.every(isStatus)) {
    return (status) => statuses.includes(status)
  }
  const example = option === 'countIf' ? 401 : 503
  throw invalidOption(
    `${option} must be a list of statuses such as [${example}], or a function such as (status) => status === ${example}`,
    statuses,
  )
}

const isStatus = (status: unknown): boolean =>
  Number.isInteger(status) && (status as number) >= 100 && (status as number) <= 599
