import { formatValue, invalidOption, QuotaError } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { type Awaitable, andThen, checked } from '../../common/maybe-promise.ts'
import { checkMethod } from '../../common/methods.ts'
import { checkNames } from '../../common/options.ts'
import { beginsAsPattern, matchesPattern, parsePattern } from '../../common/path-pattern.ts'
import { within } from '../../http/addresses/address.ts'
import type { Read, RequestSources } from '../../http/pipeline/request-sources.ts'
import { pathsOf, type RequestParts } from '../../http/requests/parts.ts'
import { canonical, type PathReadings } from '../../http/requests/path.ts'
import { checkFlag, checkMatched } from '../../http/requests/returned.ts'
import { claimIn, claimsReader } from '../selectors/claims.ts'
import { checkName } from '../selectors/selector-syntax.ts'
import { mountWarner } from './mounted-path.ts'

/** Conditions for a request. All conditions must hold; of a list, one value. */
export interface Match {
  /**
   * Client addresses and networks, such as `10.0.0.0/8`. Compared with the address that `'ip'` counts. An IPv4 address that is
   * translated into IPv6 is in networks of either: `64:ff9b::10.0.0.1` in `10.0.0.0/8` and in `64:ff9b::/96`. The latter has no
   * addresses but translated ones.
   */
  readonly ip?: string | readonly string[]
  /** HTTP methods. `GET` includes `HEAD`, which runs the same handler. */
  readonly method?: string | readonly string[]
  /**
   * Patterns such as `/login`, `/users/:id` (one segment; `*` is the same without a name) and `/api/*` (`/api` and
   * everything below it; `**` is the same).
   */
  readonly path?: string | readonly string[]
  /** Required values of headers; `true` for any value. */
  readonly header?: Readonly<Record<string, string | true>>
  /** Required values of verified claims. */
  readonly claim?: Readonly<Record<string, string | number | boolean>>
}

/** Selects requests by conditions, or by a function. */
type OneMatch<R> = Match | ((request: R) => Awaitable<boolean>)

/** Selects requests: by conditions, by a function, or by a list of these, of which one must hold. */
export type MatchOption<R> = OneMatch<R> | readonly OneMatch<R>[]

/**
 * Compiles a match into a test of requests; `what` names the option in errors. `readsEmpty`: also by the readings of a path with
 * empty parameters, and by what a mount takes for below it.
 */
export function matcher<R>(
  what: 'match' | 'skip',
  option: MatchOption<R> | undefined,
  requestSources: RequestSources<R>,
  readsEmpty: boolean = what === 'match',
): Read<R, boolean> | undefined {
  if (option === undefined) return undefined
  const listed = isList(option)
  // A list with holes has matches that are undefined.
  const tests = Array.from(listed ? option : [option], (each) => oneMatcher(what, each, requestSources, readsEmpty))
  if (tests.length > 0) return listed ? anyOf(tests) : tests[0]
  throw new QuotaError('ERR_SPILLWAY_OPTION', `${what} is an empty list: add a condition, or leave it out.`)
}

const CONDITIONS = ['ip', 'method', 'path', 'header', 'claim'] as const

const isList: (value: unknown) => value is readonly unknown[] = Array.isArray

/** Reports whether one of the tests holds, in their order: those after it are not called. */
function anyOf<R>(tests: readonly Read<R, boolean>[]): Read<R, boolean> {
  return (parts) => {
    for (const [i, test] of tests.entries()) {
      const matches = test(parts)
      if (matches instanceof Promise) return matches.then((known) => known || anyOf(tests.slice(i + 1))(parts))
      if (matches) return true
    }
    return false
  }
}

function oneMatcher<R>(
  what: 'match' | 'skip',
  option: OneMatch<R>,
  requestSources: RequestSources<R>,
  readsEmpty: boolean,
): Read<R, boolean> {
  const { reader, address, hints } = requestSources
  if (typeof option === 'function') {
    const test = checked(option, what === 'skip' ? checkFlag('skip') : checkMatched, inTime(what))
    return ({ request }) => test(request)
  }
  if (typeof option !== 'object' || isList(option)) {
    throw invalidOption(`${what} must be an object such as { path: '/login' }, a function, or a list of these`, option)
  }
  checkNames(what, option, CONDITIONS, (name) => hints?.name(name, CONDITIONS))
  checkSet(what, option)
  const tests: ((parts: RequestParts<R>) => boolean)[] = []
  if (option.ip !== undefined) {
    const listed = within(`${what}.ip`, texts(`${what}.ip`, option.ip))
    tests.push((parts) => listed(parts.once('ip', address)))
  }
  if (option.method !== undefined) {
    const name = `${what}.method`
    const methods = texts(name, option.method).map((method) => checkMethod(name, method, hints?.name))
    if (methods.includes('GET')) methods.push('HEAD')
    tests.push(({ request }) => methods.includes(reader.method(request)))
  }
  if (option.path !== undefined) tests.push(pathTest(what, option.path, requestSources, readsEmpty))
  for (const [name, wanted] of entries(`${what}.header`, option.header, isHeaderValue)) {
    const header = checkName('header', name)
    tests.push((parts) => {
      const value = parts.once(`header ${header}`, (request) => reader.header(request, header))
      return wanted === true ? Boolean(value) : value === wanted
    })
  }
  const passes = (parts: RequestParts<R>): boolean => tests.every((test) => test(parts))
  const wanted = entries(`${what}.claim`, option.claim, isClaimValue)
  if (wanted.length > 0) {
    const claimsOf = claimsReader(`${what}.claim`, requestSources.claims)
    return (parts) =>
      passes(parts) &&
      andThen(claimsOf(parts), (known) => wanted.every(([name, value]) => claimIn(known, name) === value))
  }
  if (tests.length > 0) return passes
  throw new QuotaError('ERR_SPILLWAY_OPTION', `${what} is empty: add a condition, or leave it out.`)
}

/** If a path has several readings, a limit applies to any, but an exemption requires all. */
function pathTest<R>(
  what: 'match' | 'skip',
  option: unknown,
  requestSources: RequestSources<R>,
  readsEmpty: boolean,
): (parts: RequestParts<R>) => boolean {
  const { reader, hints } = requestSources
  const name = `${what}.path`
  const patterns = texts(name, option).map((pattern) => parsePattern(name, pattern, canonical, hints?.pattern))
  const matches = (path: readonly string[]): boolean => patterns.some((pattern) => matchesPattern(pattern, path))
  const matchesAny = ({ readings }: PathReadings): boolean => readings.some(matches)
  const matchesAll = ({ readings }: PathReadings): boolean => readings.every(matches)
  const begins = (path: readonly string[]): boolean => patterns.some((pattern) => beginsAsPattern(pattern, path))
  const leniently = (request: R, { readings, empty }: PathReadings): boolean =>
    (reader.hasEmptyParameters?.(request) && empty.some(matches)) ||
    (reader.mountsByText === true && readings.some(begins))
  const warnOfMount = mountWarner(name, matchesAny, requestSources)
  const part = what === 'skip' && reader.wholePath !== undefined ? 'wholePath' : 'path'
  return (parts) => {
    const paths = pathsOf(parts, reader, part)
    if (what === 'skip' ? paths.every(matchesAll) : paths.some(matchesAny)) return true
    if (readsEmpty && paths.some((path) => leniently(parts.request, path))) return true
    warnOfMount(parts)
    return false
  }
}

/** Rejects an undefined condition, such as one read from an environment variable that is not set. */
function checkSet(what: string, option: Match): void {
  const [unset] = Object.entries(option).find(([, value]) => value === undefined) ?? []
  if (unset === undefined) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what}.${unset} is undefined, so ${what} would match more requests than intended. Set it, or leave it out.`,
  )
}

function texts(what: string, value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > 0 && list.every((each) => typeof each === 'string')) return list as readonly string[]
  const got = list.length === 0 ? 'an empty list' : formatValue(value)
  throw new QuotaError('ERR_SPILLWAY_OPTION', `${what} must be text or a list of it; got ${got}.`)
}

const isHeaderValue = (value: unknown): value is string | true => typeof value === 'string' || value === true
const isClaimValue = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

function entries<T>(what: string, values: unknown, isValue: (value: unknown) => value is T): readonly [string, T][] {
  if (values === undefined) return []
  const named = typeof values === 'object' && !Array.isArray(values) ? Object.entries(values ?? {}) : []
  const wrong = named.find(([, value]) => !isValue(value))
  if (named.length > 0 && wrong === undefined) return named as [string, T][]
  const got = wrong === undefined ? formatValue(values) : `${formatValue(wrong[1])} for ${formatValue(wrong[0])}`
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what} must be an object with the required value of each name, such as { name: 'value' }; got ${got}.`,
  )
}
