import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { Logger } from '../../common/warn.ts'
import { checkPrefix } from '../addresses/address.ts'
import { clientAddress, type TrustProxy } from '../addresses/client-address.ts'
import { frameworkAddress } from '../addresses/framework-address.ts'
import type { RequestParts } from '../requests/parts.ts'
import type { Claims, RequestReader } from '../requests/reader.ts'

/** Options that identify the client of a request. */
export interface RequestSourceOptions<R> {
  /**
   * Which proxies are trusted to report the client's address: how many, or their addresses and networks. The address is
   * read from `X-Forwarded-For` from the right, or from the named header.
   * @default the framework's own setting
   */
  readonly trustProxy?: TrustProxy
  /**
   * The leading bits of an IPv6 address that identify one client, 32 to 128.
   * @default `56`
   */
  readonly ipv6Prefix?: number
  /**
   * Returns the verified claims about the user, for `claim:` selectors and matches. Called at most once per request.
   * @default none
   */
  readonly claims?: Claims<R>
}

/** Reads what a policy needs of a request. */
export type Read<R, T> = (parts: RequestParts<R>) => MaybePromise<T>

/** The functions and settings with which selectors read a request. */
export interface RequestSources<R> {
  readonly reader: RequestReader<R>
  /** The client's address, by the options' trusted proxies. */
  readonly address: (request: R) => string | undefined
  readonly claims: Claims<R> | undefined
  /** The names of the parameters and cookies that policies need: all are read together. */
  readonly parameters: Set<string>
  readonly cookies: Set<string>
  /** The leading bits of an IPv6 address that identify one client. */
  readonly ipv6Prefix: number
  readonly logger: Logger
}

/** Compiles the options. Throws a QuotaError if one is invalid. */
export function requestSourcesOf<R>(
  { claims, ipv6Prefix = 56, trustProxy }: RequestSourceOptions<R>,
  reader: RequestReader<R>,
  logger: Logger,
): RequestSources<R> {
  checkPrefix(ipv6Prefix, 32)
  const address = trustProxy === undefined ? frameworkAddress(reader, logger) : clientAddress(trustProxy, reader)
  return { reader, claims, parameters: new Set(), cookies: new Set(), ipv6Prefix, address, logger }
}
