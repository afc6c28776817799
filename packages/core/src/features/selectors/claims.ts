import { formatValue, invalid, QuotaError } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { checked, type MaybePromise } from '../../common/maybe-promise.ts'
import type { RequestParts } from '../../http/requests/parts.ts'
import type { Claims } from '../../http/requests/reader.ts'
import { checkReturnedClaims } from '../../http/requests/returned.ts'

/**
 * Builds the function that looks up the verified claims about a request's user. Throws a QuotaError, which names the option
 * `what` that needs them, without the `claims` option.
 */
export function claimsReader<R>(
  what: string,
  claims: Claims<R> | undefined,
): (parts: RequestParts<R>) => MaybePromise<Readonly<Record<string, unknown>> | undefined> {
  if (claims === undefined) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `${what} needs claims that the app has verified: claims: (request) => request.user.`,
    )
  }
  const lookUp = checked(claims, checkReturnedClaims, inTime('claims'))
  return (parts) => parts.once('claims', lookUp)
}

/** A claim that the app has verified; undefined if it is missing. Inherited properties are no claims. */
export const claimIn = (claims: Readonly<Record<string, unknown>> | undefined, name: string): unknown =>
  claims !== undefined && Object.hasOwn(claims, name) ? claims[name] : undefined

/**
 * A claim as a key; empty if it is missing or undefined. Throws a QuotaError for what would be one key for all users: objects,
 * and getters of a class.
 */
export function claimText(name: string, claims: Readonly<Record<string, unknown>> | undefined): string {
  const value = claimIn(claims, name)
  if (claims !== undefined && name in claims && !Object.hasOwn(claims, name) && !(name in Object.prototype)) {
    throw new QuotaError(
      'ERR_SPILLWAY_KEY',
      `claim ${formatValue(name)} is inherited. Return an object of its own in claims, such as { ${name}: user.${name} }.`,
    )
  }
  if (value === undefined || value === null) return ''
  if (['string', 'number', 'boolean', 'bigint'].includes(typeof value)) return String(value)
  throw invalid(
    'ERR_SPILLWAY_KEY',
    `claim ${formatValue(name)} must be text, a number, true or false`,
    value,
    'Return its text in claims.',
  )
}
