import { type Logger, warnOnce } from '../../common/warn.ts'
import type { RequestReader } from '../requests/reader.ts'
import { withoutPort } from './address-in.ts'

/** How many requests are examined for proxy settings that look wrong. */
const EXAMINED = 100

/** What is wrong if a framework trusts every proxy. */
export const TRUSTS_EVERY_PROXY: string =
  "the app trusts every proxy, so a client can send another X-Forwarded-For with each request and is never limited. Set the number of your proxies: rateLimit({ …, trustProxy: 1 }), or app.set('trust proxy', 1) in Express, maxIpsCount: 1 in Koa, trustProxy: 1 in Fastify."

/** The client's address by the framework's own proxy settings. Warns if these settings look wrong. */
export function frameworkAddress<R>(reader: RequestReader<R>, logger: Logger): (request: R) => string | undefined {
  let left = EXAMINED
  return (request) => {
    const address = reader.address(request)
    if (left > 0) {
      left--
      warnOfSettings(reader, request, address, logger)
    }
    return address === undefined ? undefined : withoutPort(address)
  }
}

function warnOfSettings<R>(reader: RequestReader<R>, request: R, address: string | undefined, logger: Logger): void {
  if (address === undefined && isConnected(reader, request)) {
    warnOnce(
      logger,
      'WARN_SPILLWAY_NO_ADDRESS',
      'a request has no client address: all such requests count as one client. Set trustProxy: 1 if your proxy sends X-Forwarded-For, or set key.',
    )
  }
  const proxyWarning = reader.proxyWarning?.(request)
  if (proxyWarning) warnOnce(logger, 'WARN_SPILLWAY_TRUSTS_EVERY_PROXY', proxyWarning)
  if (address === reader.peer(request) && reader.header(request, 'x-forwarded-for') !== undefined) {
    warnOnce(
      logger,
      'WARN_SPILLWAY_UNTRUSTED_PROXY',
      'a request has X-Forwarded-For, but no proxy is trusted: all clients behind it count as one. If it is yours, set trustProxy: 1, the number of proxies.',
    )
  }
}

/** Whether the client of a request is still connected: Node forgets the address of one that is not. */
function isConnected<R>(reader: RequestReader<R>, request: R): boolean {
  let isConnected = true
  reader.onClientClosed(request, () => {
    isConnected = false
  })()
  return isConnected
}
