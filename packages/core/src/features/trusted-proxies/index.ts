import type { Feature, OptionTypes } from '../../http/pipeline/seams.ts'
import { addressBehind, type TrustProxy } from './client-address.ts'

/** The option for proxies in front of the server. */
export interface TrustedProxiesOptions {
  /**
   * Which proxies are trusted to report the client's address: how many, or their addresses and networks. The address is
   * read from `X-Forwarded-For` from the right, or from the named header.
   * @default the framework's own setting
   */
  readonly trustProxy?: TrustProxy
}

/** The types of its options. */
export interface TrustedProxiesTypes extends OptionTypes {
  readonly limiter: TrustedProxiesOptions
}

/** `trustProxy`: the client's address as trusted proxies report it. */
export const trustedProxies: Feature<TrustedProxiesTypes> = {
  name: 'trustedProxies',
  options: ['trustProxy'],
  layers: {
    sources: (next) => (options, reader, logger) => {
      const sources = next(options, reader, logger)
      const { trustProxy } = options as TrustedProxiesOptions
      return trustProxy === undefined
        ? sources
        : { ...sources, address: addressBehind(trustProxy, reader, sources.hints?.name) }
    },
  },
}
