import { formatValue, invalidOption } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { type Awaitable, all, andThen, checked } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { addressKey } from '../../http/addresses/address.ts'
import { withoutPort } from '../../http/addresses/address-in.ts'
import type { Read, RequestSources } from '../../http/pipeline/request-sources.ts'
import { cookiesIn } from '../../http/requests/cookie.ts'
import { pathsOf, type RequestParts } from '../../http/requests/parts.ts'
import { type PathReadings, plainReading } from '../../http/requests/path.ts'
import { type Parameter, parametersIn, soleValue } from '../../http/requests/query.ts'
import { checkReturnedKey } from '../../http/requests/returned.ts'
import { claimsReader, claimText } from './claims.ts'
import { joinParts, splitSelector } from './selector-syntax.ts'

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
    const keyOf = checked(option, check, inTime('key'))
    return ({ request }) => keyOf(request)
  }
  if (typeof option === 'string') return selectorReader(option, requestSources)
  if (!Array.isArray(option) || option.length === 0) {
    throw invalidOption('key must be a selector, a list of them or a function', option)
  }
  const parts = option.map((selector: KeySelector) => selectorReader(selector, requestSources))
  const list = JSON.stringify(option)
  return (request) => request.once(list, () => andThen(all(parts.map((part) => part(request))), joinParts))
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

/** Builds the function that reads a query parameter. */
export function parameterReader<R>(
  name: string,
  { reader, parameters }: Pick<RequestSources<R>, 'reader' | 'parameters'>,
): (parts: RequestParts<R>) => Parameter {
  parameters.add(name)
  const read = (request: R): ReadonlyMap<string, Parameter> =>
    parametersIn(reader.query(request), parameters, reader.mostParameters)
  return (parts) => parts.once('query', read).get(name) as Parameter
}

function selectorReader<R>(selector: KeySelector, requestSources: RequestSources<R>): Read<R, string> {
  const { reader, address, claims, cookies, ipv6Prefix } = requestSources
  const [kind, name] = splitSelector(selector)
  switch (kind) {
    case 'ip':
      return (parts) => addressKey(parts.once('ip', address), ipv6Prefix)
    case 'method':
      return ({ request }) => reader.method(request)
    case 'path':
      return (parts) => parts.once('plain path', () => plainReading(pathsOf(parts, reader, 'path')[0] as PathReadings))
    case 'header':
      // Some servers examine a header whenever it is read.
      return (parts) => parts.once(`header ${name}`, (request) => reader.header(request, name)) ?? ''
    case 'query': {
      const parameterOf = parameterReader(name, requestSources)
      return (parts) => soleValue(parameterOf(parts))
    }
    case 'cookie': {
      cookies.add(name)
      const read = (request: R): ReturnType<typeof cookiesIn> =>
        cookiesIn(reader.header(request, 'cookie') ?? '', cookies)
      return (parts) => parts.once('cookies', read).get(name) ?? ''
    }
    case 'claim': {
      const claimsOf = claimsReader(`key ${formatValue(selector)}`, claims)
      return (parts) => andThen(claimsOf(parts), (known) => claimText(name, known))
    }
    default:
      throw invalidOption(
        "key knows the selectors 'ip', 'method', 'path', 'header:NAME', 'query:NAME', 'cookie:NAME' and 'claim:NAME'",
        selector,
      )
  }
}
