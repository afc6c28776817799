import {
  connectionAddress,
  fetchHeader,
  hidesBody,
  type RequestReader,
  type RuntimeContext,
  srvxContext,
  whenAbandoned,
} from '@spillway/core/http'
import type { H3Event } from 'h3'

/** What the runtime knows of the request's connection. */
export const contextOf = ({ req }: H3Event): RuntimeContext | undefined => srvxContext(req)

const peer = (event: H3Event): string | undefined => connectionAddress(event.req, contextOf(event))

/**
 * The path of the event, and the path that was requested. They differ in an app that is mounted below a prefix, if
 * something has rewritten the URL, and if h3 has decoded parts of it.
 */
function pathOf(event: H3Event): string | readonly string[] {
  const { pathname } = event.url
  const target = contextOf(event)?.incoming?.url ?? event.req.url
  const [requested = ''] = target.split(/[?#]/, 1)
  if (requested === pathname) return pathname
  const url = target.startsWith('/') ? `http://localhost${target}` : target
  const parsed = URL.canParse(url) ? new URL(url).pathname : pathname
  return parsed === pathname ? pathname : [parsed, requested, pathname]
}

export const reader: RequestReader<H3Event> = {
  // Not `event.req.ip`: with `trustProxy` it is what the client has written first into X-Forwarded-For.
  address: peer,
  peer,
  method: ({ req }) => req.method,
  path: pathOf,
  header: ({ req }, name) => fetchHeader(req, name),
  query: ({ url }, name) => url.searchParams.getAll(name),
  hidesBody: (event) => {
    const incoming = contextOf(event)?.incoming
    return incoming ? hidesBody(incoming) : event.req.body !== null
  },
  identity: (event) => event,
  sendsResponses: true,
  onClientClosed: (event, listener) => whenAbandoned(event.req, contextOf(event), listener),
}
