import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { Logger } from '../../common/warn.ts'
import type { RequestParts } from '../requests/parts.ts'
import type { Claims, RequestReader } from '../requests/reader.ts'

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
  /** Absent if errors propose nothing. */
  readonly hints?: RequestHints
}

/** What errors about conditions of requests propose to write instead. */
export interface RequestHints {
  /** Instead of a name that is not `known`; undefined if none is near. */
  name(name: string, known: readonly string[]): string | undefined
  /** Instead of an invalid pattern of paths. */
  pattern(pattern: string): string | undefined
}

/** The option for addresses that are one client. */
export interface AddressOptions {
  /**
   * The leading bits of an IPv6 address that identify one client, 32 to 128.
   * @default `56`
   */
  readonly ipv6Prefix?: number
}
