import { invalid, invalidOption } from '../../common/errors.ts'

// Checks of what option functions return. Values of other types throw: if truthiness decided, a missing `return` would
// disable a limit.

/** Of `match`: only true or false. */
export const checkMatched = (returned: unknown): boolean => boolean('match', returned)

/** Of `countIf`: undefined counts as true, because the limit then holds. */
export const checkCounts = (returned: unknown): boolean => boolean('countIf', returned ?? true)

/** Of `skip` and `refundIf`: undefined counts as false, because the limit then holds. */
export const checkFlag =
  (option: 'skip' | 'refundIf') =>
  (returned: unknown): boolean =>
    boolean(option, returned ?? false)

function boolean(option: string, returned: unknown): boolean {
  if (typeof returned === 'boolean') return returned
  throw invalidOption(`${option} must return true or false`, returned, 'Write Boolean(…).')
}

/** Of `key`. Unlike in a direct call, a key may be empty: requests without the part share this key. */
export function checkReturnedKey(returned: unknown): string | undefined {
  if (typeof returned === 'string' || returned === undefined) return returned
  throw invalid('ERR_SPILLWAY_KEY', 'key must return a string or undefined', returned, 'Write String(…).')
}

/** Of `cost`: estimates are often fractions, and are rounded up. */
export function checkReturnedCost(returned: unknown): number {
  if (typeof returned === 'number' && returned > 0) return Math.ceil(returned)
  const hint = 'Use match to exempt requests.'
  throw invalid('ERR_SPILLWAY_COST', 'cost must return a number of units, more than 0', returned, hint)
}

/** Of `settle`. */
export function checkReturnedActual(returned: unknown): number {
  const units = typeof returned === 'number' ? Math.ceil(returned) : returned
  if (Number.isSafeInteger(units) && (units as number) >= 0) return units as number
  throw invalid('ERR_SPILLWAY_COST', 'settle must return a number of units, 0 or more', returned)
}

/** Of `claims`. */
export function checkReturnedClaims(returned: unknown): Readonly<Record<string, unknown>> | undefined {
  if (returned === undefined || returned === null) return undefined
  if (typeof returned === 'object') return returned as Readonly<Record<string, unknown>>
  throw invalidOption('claims must return an object, or undefined', returned)
}
