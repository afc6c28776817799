import { formatValue, QuotaError } from '../errors.ts'
import { type Awaitable, all, andThen, checked } from '../maybe-promise.ts'
import { type Logger, warnOnce } from '../warn.ts'
import { addressKey } from './address.ts'
import { claimsOnce, claimText, needsClaims } from './claims.ts'
import { cookieIn } from './cookie.ts'
import { withoutPort } from './ip-key.ts'
import { joinParts } from './key-text.ts'
import { plainPath } from './path.ts'
import type { RequestReader } from './reader.ts'
import type { Read, RequestSources } from './request-sources.ts'
import { checkReturnedCost, checkReturnedKey } from './returned.ts'
import { splitSelector } from './selector-syntax.ts'

/** Names a part of the request that identifies clients. */
export type KeySelector =
  | 'ip'
  | 'method'
  | 'path'
  | `header:${string}`
  | `query:${string}`
  | `cookie:${string}`
  | `claim:${string}`

/**
 * The client that a policy counts: a selector, several combined, or a function. If a function returns undefined, the
 * request is not counted. If a selector finds nothing, all such requests count as one client.
 */
export type KeyOption<R> = KeySelector | readonly KeySelector[] | ((request: R) => Awaitable<string | undefined>)

/** The units that a request consumes: a number, a header or query parameter that holds it, or a function. */
export type CostOption<R> = number | `header:${string}` | `query:${string}` | ((request: R) => Awaitable<number>)

/** Compiles a key option into the function that reads a request's key. */
export function keyReader<R>(option: KeyOption<R>, requestSources: RequestSources<R>): Read<R, string | undefined> {
  if (typeof option === 'function') {
    return checked(option, (returned) => watchAddress(checkReturnedKey(returned), requestSources.logger))
  }
  if (typeof option === 'string') return selectorReader(option, requestSources)
  if (!Array.isArray(option) || option.length === 0) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `key must be a selector, a list of them or a function; got ${formatValue(option)}.`,
    )
  }
  const parts = option.map((selector: KeySelector) => selectorReader(selector, requestSources))
  return (request, claims) => andThen(all(parts.map((part) => part(request, claims))), joinParts)
}

/**
 * Warns of a key function that returns addresses unchanged. A client with an IPv6 address has at least 2^64 of them, and
 * one with a port has another with each connection.
 */
function watchAddress(key: string | undefined, logger: Logger): string | undefined {
  // The cheap tests come first: they exclude nearly every key.
  if (!key?.includes(':')) return key
  if (withoutPort(key) !== key) {
    warnOnce(
      logger,
      'WARN_SPILLWAY_PORT_KEY',
      'a key function returns an address with a port. A client gets a limit for each connection. Return ipKey(address).',
    )
  }
  if (/^[\da-f:.]{2,45}(%|$)/i.test(key) && addressKey(key, 128).includes('/')) {
    warnOnce(
      logger,
      'WARN_SPILLWAY_IPV6_KEY',
      'a key function returns a full IPv6 address. A client has a whole network of them, and gets a limit for each. Return ipKey(address), which is exported beside rateLimit.',
    )
  }
  return key
}

function selectorReader<R>(selector: KeySelector, requestSources: RequestSources<R>): Read<R, string> {
  const { reader, address, ipv6Prefix } = requestSources
  const [kind, name] = splitSelector(selector)
  switch (kind) {
    case 'ip':
      return (request) => addressKey(address(request), ipv6Prefix)
    case 'method':
      return (request) => reader.method(request)
    case 'path':
      return (request) => plainPath(reader.path(request))
    case 'header':
      return (request) => reader.header(request, name) ?? ''
    case 'query':
      return (request) => reader.query(request, name) ?? ''
    case 'cookie':
      return (request) => cookieIn(reader.header(request, 'cookie'), name) ?? ''
    case 'claim':
      if (requestSources.claims) {
        return (request, claims = claimsOnce(requestSources.claims, request)) =>
          andThen(claims(), (known) => claimText(name, known))
      }
      throw needsClaims(`key ${formatValue(selector)}`)
    default:
      throw new QuotaError(
        'ERR_SPILLWAY_OPTION',
        `key knows the selectors 'ip', 'method', 'path', 'header:NAME', 'query:NAME', 'cookie:NAME' and 'claim:NAME'; got ${formatValue(selector)}.`,
      )
  }
}

/** The cost of a request, and its bounds. */
export interface CostOptions<R> {
  /**
   * The units that a request consumes: a number, a selector such as `'header:x-cost'`, or a function.
   * @default `1`
   */
  readonly cost?: CostOption<R>
  /**
   * The cost when the selected header or parameter is missing or is not a whole number.
   * @default `1`
   */
  readonly defaultCost?: number
  /**
   * The most units one request can cost. Required with `cost: 'header:content-length'`: a body of unknown length costs
   * this.
   * @default `Number.MAX_SAFE_INTEGER`
   */
  readonly maxCost?: number
}

/** Compiles a cost option into the function that reads a request's cost: always a whole number, 1 to `maxCost`. */
export function costReader<R>(options: CostOptions<R>, reader: RequestReader<R>): Read<R, number> {
  const { cost = 1, maxCost = Number.MAX_SAFE_INTEGER } = options
  const fallback = wholeCost('defaultCost', options.defaultCost ?? 1)
  wholeCost('maxCost', maxCost)
  // A number that is too large to count costs `maxCost`, not the lower default.
  const bounded = (value: number): number =>
    value > Number.MAX_SAFE_INTEGER ? maxCost : Math.min(isCost(value) ? value : fallback, maxCost)
  // A function is the app's code: an invalid value is a mistake and throws, while one from a client falls back to the
  // default.
  if (typeof cost === 'function') return checked(cost, (returned) => Math.min(checkReturnedCost(returned), maxCost))
  if (typeof cost === 'number') {
    const fixed = Math.min(wholeCost('cost', cost), maxCost)
    return () => fixed
  }
  const [kind, name] = splitSelector(cost)
  if (kind === 'header' && name === 'content-length') return lengthReader(options.maxCost, bounded, reader)
  if (kind === 'header') return (request) => bounded(parseCost(reader.header(request, name)))
  if (kind === 'query') return (request) => bounded(parseCost(reader.query(request, name)))
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `cost must be a whole number, 'header:NAME', 'query:NAME' or a function; got ${formatValue(cost)}.`,
  )
}

/**
 * Reads a body's length. A body without an announced length costs `maxCost`: otherwise clients would omit the length.
 */
function lengthReader<R>(
  maxCost: number | undefined,
  bounded: (value: number) => number,
  reader: RequestReader<R>,
): Read<R, number> {
  if (maxCost === undefined) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      "cost: 'header:content-length' needs maxCost: the cost of a body of unknown length, such as a chunked one. Write the limit of your body parser.",
    )
  }
  const hidesBody = reader.hidesBody ?? ((request) => !WITHOUT_BODY.includes(reader.method(request)))
  return (request) => {
    const length = reader.header(request, 'content-length')
    const chunked = reader.header(request, 'transfer-encoding') !== undefined
    return chunked || (length === undefined && hidesBody(request)) ? maxCost : bounded(parseCost(length))
  }
}

const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE', 'CONNECT']

const isCost = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1

/** Digits only: '1e9', '0x10', ' 5' and '5, 5' are not costs. */
const parseCost = (text: string | undefined): number => (text !== undefined && /^\d+$/.test(text) ? Number(text) : 0)

function wholeCost(what: string, value: number): number {
  if (isCost(value)) return value
  throw new QuotaError(
    'ERR_SPILLWAY_COST',
    `${what} must be a whole number of units, 1 or more; got ${formatValue(value)}.`,
  )
}
