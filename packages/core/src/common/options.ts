import { type ErrorCode, formatValue, QuotaError } from './errors.ts'

/**
 * Throws a QuotaError if `options` is not an object, has an unknown name, or has `null` for an option: only `undefined` counts
 * as not given. The error proposes what to write instead: the hint of `hintFor`, or the nearest known name.
 */
export function checkOptions(
  where: string,
  options: unknown,
  known: readonly string[],
  hintFor?: (name: string, given: readonly string[]) => string | undefined,
): void {
  checkObject(where, options)
  const given = Object.keys(options)
  for (const name of given) {
    if (known.includes(name)) continue
    const hint = hintFor?.(name, given) ?? guess(name, known) ?? `It knows ${known.join(', ')}.`
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

/** What to write here, with the names that other rate limiters have for it. */
const PEER_NAMES: Readonly<Record<string, string>> = {
  'quota: perMinute(100)': 'windowMs max limit points duration timeWindow',
  'quota: penalty(…)': 'blockDuration penalty',
  'quota: leakyBucket(…)': 'execEvenly',
  name: 'identifier keyPrefix namespace',
  key: 'keyGenerator generator',
  headers: 'standardHeaders legacyHeaders',
  'headers: false': 'disableHeader',
  onDenied: 'handler message statusCode errorMessage',
  refundIf: 'skipFailedRequests skipSuccessfulRequests requestWasSuccessful',
  skip: 'allowList whitelist',
  ipv6Prefix: 'ipv6Subnet',
  onStoreError: 'insuranceLimiter',
  'always decisionOf(request)': 'requestPropertyName',
}

/** What to write here for an option of another rate limiter. */
export const peerOption = (name: string): string | undefined =>
  Object.keys(PEER_NAMES).find((here) => PEER_NAMES[here]?.split(' ').includes(name))

/** The hint for an option of another rate limiter that is one of the `known` here, or for a quota instead of options. */
export function hintOfPeer(name: string, known: readonly string[]): string | undefined {
  if (name === 'kernel') return 'This is a quota: write { quota: perMinute(100) }.'
  const here = peerOption(name)
  return here && known.includes(here.split(':', 1)[0] as string) ? `Here that is ${here}.` : undefined
}

/** The options of these names, also those that an instance of a class inherits: a spread would lose its getters. */
export const givenOptions = (options: object, names: readonly string[]): object =>
  Object.fromEntries(names.filter((name) => name in options).map((name) => [name, options[name as keyof object]]))

/**
 * Throws a QuotaError if `options` is not an object, or hides what it holds: all options of a promise, or of a map, would be
 * ignored.
 */
export function checkObject(where: string, options: unknown): asserts options is object {
  if (isObject(options) && !Array.isArray(options) && (Object.keys(options).length > 0 || isPlain(options))) return
  const hint = options instanceof Promise ? ' Await it first.' : ''
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${where} takes an object of options; got ${formatValue(options)}.${hint}`,
  )
}

/** Whether an object is a literal, also one of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A question that proposes the nearest known name; undefined if none is near. */
export function guess(name: string, known: readonly string[]): string | undefined {
  const meant = nearest(name, known)
  return meant && `Did you mean ${formatValue(meant)}?`
}

/** Throws a QuotaError for an option that is not a function, or is missing if it is `required`. */
export function checkFunctions<T extends object>(options: T, names: readonly string[], required = false): void {
  for (const name of names) {
    const value: unknown = options[name as keyof T]
    if ((value === undefined && !required) || typeof value === 'function') continue
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${name} must be a function; got ${formatValue(value)}.`)
  }
}

/** The known name nearest to a misspelt one; undefined if none is near. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= Math.max(2, name.length / 3) ? best.candidate : undefined
}

/** The Levenshtein distance, by its textbook recurrence, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const previous = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min((previous[j] as number) + 1, (row[j - 1] as number) + 1, swap))
    }
  }
  return row[b.length] as number
}

/** Checks a boolean option; `name` names it in the error. */
export function checkBoolean(name: string, value: unknown, whenUnset = false): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? whenUnset
  throw new QuotaError('ERR_SPILLWAY_OPTION', `${name} must be true or false; got ${formatValue(value)}.`)
}

/** The largest number that an error proposes: two of them are still added exactly. */
const MOST_PROPOSED = 2 ** 52

/**
 * Checks that a number of a quota is whole, and `least` or more; a fraction of a unit could not be refunded exactly. `instead`
 * ends the error in place of the nearest whole number.
 */
export const checkWhole = (what: string, value: unknown, least: number, instead = ''): number =>
  checkedWhole('ERR_SPILLWAY_QUOTA', what, value, least, instead)

/** Checks that a count, which is no number of a quota, is whole, and `least` or more. */
export const checkCount = (what: string, value: unknown, least: number): number =>
  checkedWhole('ERR_SPILLWAY_OPTION', what, value, least)

function checkedWhole(code: ErrorCode, what: string, value: unknown, least: number, instead = ''): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
  const nearest = Number.isFinite(value)
    ? ` Use ${Math.min(Math.max(Math.round(value as number), least), MOST_PROPOSED)}.`
    : ''
  throw new QuotaError(
    code,
    `${what} must be a whole number, ${least} or more; got ${formatValue(value)}.${instead === '' ? nearest : instead}`,
  )
}
