import type { TrustProxy } from '../src/features/trusted-proxies/client-address.ts'
import { clientAddress } from '../src/features/trusted-proxies/client-address.ts'

interface Request {
  readonly peer: string | undefined
  readonly headers?: Record<string, string>
}

/** The client that is found with such trust, such a peer and such headers. */
export const client = (
  trust: TrustProxy,
  peer: string | undefined,
  headers: Record<string, string> = {},
): string | undefined =>
  clientAddress<Request>(trust, {
    peer: (request) => request.peer,
    header: (request, name) => request.headers?.[name],
  })({ peer, headers })

/** The client of a request from 10.0.0.1 with this `X-Forwarded-For`. */
export const behind = (trust: TrustProxy, forwarded: string, peer = '10.0.0.1'): string | undefined =>
  client(trust, peer, { 'x-forwarded-for': forwarded })

/** The client of a request from 10.0.0.1 with this `Forwarded`. */
export const forwardedTo = (
  forwarded: string,
  trust: TrustProxy = { hops: 1, header: 'Forwarded' },
): string | undefined => client(trust, '10.0.0.1', { forwarded })
