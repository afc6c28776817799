import { type Closable, firstValue, hidesBody, type RequestReader, whenClosed } from '@spillway/core/http'
import type { FastifyRequest } from 'fastify'

const FORGERIES = 64
const FORGED_ADDRESS = '192.0.2.1' // an address reserved for documentation

/** A request whose addresses are all forged: how many of them Fastify trusts reveals the app's proxy settings. */
const FORGED = {
  raw: {
    socket: { remoteAddress: FORGED_ADDRESS },
    headers: { 'x-forwarded-for': Array(FORGERIES).fill(FORGED_ADDRESS).join() },
  },
}

export const reader: RequestReader<FastifyRequest> = {
  address: ({ ip }) => ip,
  peer: ({ socket }) => socket.remoteAddress,
  trustsEveryProxy: (request) => (Reflect.get(request, 'ips', FORGED)?.length ?? 0) > FORGERIES,
  method: ({ method }) => method,
  path: pathOf,
  header: ({ headers }, name) => headers[name] as string | undefined,
  query: ({ query }, name) => firstValue((query as Record<string, unknown>)[name]),
  hidesBody: ({ raw }) => hidesBody(raw),
  identity: ({ raw }) => raw,
  // The message closes as soon as its body has been read; its socket, or its HTTP/2 stream, closes when the client
  // disconnects.
  onClientClosed: ({ raw }, listener) => whenClosed((raw as { stream?: Closable }).stream ?? raw.socket, listener),
}

/** The path as the router reads it, rewritten or not: the target may also be a whole URL, or end in a fragment. */
function pathOf({ url, server }: FastifyRequest): string {
  const { useSemicolonDelimiter, routerOptions } = server.initialConfig as RouterOptions
  const ends = useSemicolonDelimiter || routerOptions?.useSemicolonDelimiter ? /[?#;]/ : /[?#]/
  return url.replace(/^https?:\/\/[^/?]*/i, '').split(ends, 1)[0] as string
}

interface RouterOptions {
  readonly useSemicolonDelimiter?: boolean
  readonly routerOptions?: RouterOptions
}
