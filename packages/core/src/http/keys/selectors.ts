import { formatValue, QuotaError } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { type Awaitable, all, andThen, checked } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { addressKey } from '../addresses/address.ts'
import { withoutPort } from '../addresses/ip-key.ts'
import { claimsOnce, claimText, needsClaims } from '../requests/claims.ts'
import { cookieIn } from '../requests/cookie.ts'
import { plainPath } from '../requests/path.ts'
import { soleValue } from '../requests/reader.ts'
import { checkReturnedKey } from '../requests/returned.ts'
import { joinParts } from './key-text.ts'
import type { Read, RequestSources } from './request-sources.ts'
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

/** Compiles a key option into the function that reads a request's key. */
export function keyReader<R>(option: KeyOption<R>, requestSources: RequestSources<R>): Read<R, string | undefined> {
  if (typeof option === 'function') {
    const check = (returned: unknown) => watchAddress(checkReturnedKey(returned), requestSources.logger)
    return checked(option, check, inTime('key'))
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
      return (request) => soleValue(reader.query(request, name))
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
