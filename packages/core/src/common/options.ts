import { type ErrorCode, formatValue, invalid, invalidOption, QuotaError } from './errors.ts'

/**
 * Throws a QuotaError if `options` is not an object, has an unknown name, or has `null` for an option: only `undefined` counts
 * as not given. `hintFor` proposes what to write instead.
 */
export function checkNames(
  where: string,
  options: unknown,
  known: readonly string[],
  hintFor?: (name: string, given: readonly string[]) => string | undefined,
): void {
  checkObject(where, options)
  const given = Object.keys(options)
  for (const name of given) {
    if (known.includes(name)) continue
    const hint = hintFor?.(name, given) ?? `It knows ${known.join(', ')}.`
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${where} has no option ${formatValue(name)}. ${hint}`)
  }
  for (const name of known) {
    // The default of a lookup is a value of the app.
    if (options[name as keyof object] !== null || name === 'default') continue
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${where} ${name} is null. Give it a value, or leave it out.`)
  }
}

/** Whether a value is an object or a list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** The options of these names, also those that an instance of a class inherits: a spread would lose its getters. */
export const givenOptions = (options: object, names: readonly string[]): object =>
  Object.fromEntries(names.filter((name) => name in options).map((name) => [name, options[name as keyof object]]))

/**
 * Throws a QuotaError if `options` is not an object, or hides what it holds: all options of a promise, or of a map, would be
 * ignored.
 */
export function checkObject(where: string, options: unknown): asserts options is object {
  if (isObject(options) && !Array.isArray(options) && (Object.keys(options).length > 0 || isPlain(options))) return
  const hint = options instanceof Promise ? 'Await it first.' : ''
  throw invalidOption(`${where} takes an object of options`, options, hint)
}

/** Whether an object is a literal, also one of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Throws a QuotaError for an option that is not a function, or is missing if it is `required`. */
export function checkFunctions<T extends object>(options: T, names: readonly string[], required = false): void {
  for (const name of names) {
    const value: unknown = options[name as keyof T]
    if ((value === undefined && !required) || typeof value === 'function') continue
    throw invalidOption(`${name} must be a function`, value)
  }
}

/** Checks a boolean option; `name` names it in the error. */
export function checkBoolean(name: string, value: unknown, whenUnset = false): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? whenUnset
  throw invalidOption(`${name} must be true or false`, value)
}

/** The largest number that an error proposes: two of them are still added exactly. */
const MOST_PROPOSED = 2 ** 52

/**
 * Checks that a number of a quota is whole, and `least` or more; a fraction of a unit could not be refunded exactly. `instead`
 * ends the error in place of the nearest whole number.
 */
export const checkWhole = (what: string, value: unknown, least: number, instead?: string): number =>
  checkedWhole('ERR_SPILLWAY_QUOTA', what, value, least, instead)

/** Checks that a count, which is no number of a quota, is whole, and `least` or more. */
export const checkCount = (what: string, value: unknown, least: number): number =>
  checkedWhole('ERR_SPILLWAY_OPTION', what, value, least)

function checkedWhole(code: ErrorCode, what: string, value: unknown, least: number, instead?: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
  const nearest = Number.isFinite(value)
    ? `Use ${Math.min(Math.max(Math.round(value as number), least), MOST_PROPOSED)}.`
    : ''
  throw invalid(code, `${what} must be a whole number, ${least} or more`, value, instead || nearest)
}

/** Whether all values are whole numbers, 1 or more. */
export const areWhole = (...values: readonly unknown[]): boolean => values.every((each) => isWhole(each, 1))

/** Whether a value is a whole number, `least` or more. */
export const isWhole = (value: unknown, least: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least
