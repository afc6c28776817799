import { checked, type MaybePromise } from '../maybe-promise.ts'
import { type Logger, warnOnce } from '../warn.ts'
import { checkPrefix } from './address.ts'
import { addressIn, clientAddress } from './client.ts'
import type { Claims, RequestReader } from './reader.ts'
import { checkReturnedClaims } from './returned.ts'
import type { TrustProxy } from './trust.ts'

/** How to find out who a request is from. */
export interface SourceOptions<R> {
  /**
   * Which proxies are trusted to report the client's address: how many, or their addresses and networks. The address is
   * read from `X-Forwarded-For` from the right, or from the named header.
   * @default the framework's own setting
   */
  readonly trustProxy?: TrustProxy
  /**
   * How many leading bits of an IPv6 address identify one client, 32 to 128.
   * @default `56`
   */
  readonly ipv6Prefix?: number
  /**
   * Returns what the app knows of the user, for `claim:` selectors and matches. Called at most once per request.
   * @default none
   */
  readonly claims?: Claims<R>
}

/** What the app knows of the user of one request. */
export type ClaimsOf = () => MaybePromise<Readonly<Record<string, unknown>> | undefined>

/** Reads something of a request. What `claims` returns for it is looked up once, however many selectors read it. */
export type Read<R, T> = (request: R, claims?: ClaimsOf) => MaybePromise<T>

/** What selectors read from besides the request. */
export interface Sources<R> {
  readonly reader: RequestReader<R>
  /** The client's address, as trusted as the options make it. */
  readonly address: (request: R) => string | undefined
  readonly claims: Claims<R> | undefined
  /** How many leading bits of an IPv6 address make one client. */
  readonly ipv6Prefix: number
  /** Where warnings go. */
  readonly logger: Logger
}

/** Compiles the options; throws a QuotaError for what is none. */
export function sourcesOf<R>(
  { claims, ipv6Prefix = 56, trustProxy }: SourceOptions<R>,
  reader: RequestReader<R>,
  logger: Logger,
): Sources<R> {
  checkPrefix(ipv6Prefix, 32)
  const address = trustProxy === undefined ? frameworksAddress(reader, logger) : clientAddress(trustProxy, reader)
  return { reader, claims, ipv6Prefix, address, logger }
}

/** Looks up the claims of a request when they are first asked for. */
export function claimsOnce<R>({ claims }: Pick<Sources<R>, 'claims'>, request: R): ClaimsOf {
  if (claims === undefined) return noClaims
  const lookUp = checked(claims, checkReturnedClaims)
  let known: { readonly claims: ReturnType<ClaimsOf> } | undefined
  return () => {
    known ??= { claims: lookUp(request) }
    return known.claims
  }
}

const noClaims = (): undefined => undefined

/** The client's address by the framework's own rules; a proxy that those do not know of is warned about. */
function frameworksAddress<R>(reader: RequestReader<R>, logger: Logger): Sources<R>['address'] {
  let watched = 100
  return (request) => {
    const address = reader.address(request)
    if (watched > 0) {
      watched--
      if (address === undefined) {
        warnOnce(
          logger,
          'WARN_SPILLWAY_NO_ADDRESS',
          'a request has no client address: all such requests count as one client. Set trustProxy: 1 if a proxy of yours sends the address in X-Forwarded-For, or set key.',
        )
      }
      if (reader.trustsEveryProxy?.(request)) {
        warnOnce(
          logger,
          'WARN_SPILLWAY_TRUSTS_EVERY_PROXY',
          "the app trusts every proxy, so a client can send another X-Forwarded-For with each request and is never limited. Set the number of your proxies: rateLimit({ …, trustProxy: 1 }), or app.set('trust proxy', 1) in Express, maxIpsCount: 1 in Koa, trustProxy: 1 in Fastify.",
        )
      }
      if (address === reader.peer(request) && reader.header(request, 'x-forwarded-for') !== undefined) {
        warnOnce(
          logger,
          'WARN_SPILLWAY_UNTRUSTED_PROXY',
          'a request has X-Forwarded-For, but no proxy is trusted: all clients behind that proxy count as one. If the proxy is yours, set trustProxy: 1, the number of proxies. If not, ignore this warning.',
        )
      }
    }
    return address === undefined ? undefined : withoutPort(address)
  }
}

/** Some proxies write the port, which is another for each connection, and frameworks hand it on. */
const withoutPort = (address: string): string =>
  address.includes(':') && /^\[|^[\d.]+:\d+$/.test(address) ? (addressIn(address) ?? address) : address
