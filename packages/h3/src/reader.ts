import {
  connectionAddress,
  fetchHeader,
  hidesBody,
  isAbandoned,
  type PlainReader,
  type RequestReader,
  type RouteReader,
  type RuntimeContext,
  srvxContext,
  targetOf,
  whenAbandoned,
} from '@spillway/core/http'
import type { H3Event } from 'h3'
import { answeredHeader } from './answers.ts'

/** What the runtime knows of the request's connection. */
export const contextOf = ({ req }: H3Event): RuntimeContext | undefined => srvxContext(req)

const peer = (event: H3Event): string | undefined => connectionAddress(event.req, contextOf(event))

/**
 * The path that was requested, and the path of the event. They differ in an app that is mounted below a prefix, if something has
 * rewritten the URL, and if h3 has decoded parts of it.
 */
function pathOf(event: H3Event): readonly string[] {
  const { pathname } = event.url
  const target = contextOf(event)?.incoming?.url ?? event.req.url
  const { path, start } = targetOf(target)
  if (start > 0 || path.startsWith('/')) return [path, pathname]
  return URL.canParse(target) ? [new URL(target).pathname, pathname] : [pathname]
}

/** Without the path of the event if that is what mounts have left of the requested one. */
function wholePathOf(event: H3Event): readonly string[] {
  const path = pathOf(event)
  const [requested = ''] = path
  return path.length > 1 && requested.endsWith(event.url.pathname) ? path.slice(0, -1) : path
}

/** What every limiter reads of a request. */
export const plainReader: PlainReader<H3Event> = {
  // Not `event.req.ip`: with `trustProxy` it is what the client has written first into X-Forwarded-For.
  address: peer,
  peer,
  method: ({ req }) => req.method,
  header: ({ req }, name) => fetchHeader(req, name),
  hidesBody: (event) => {
    const incoming = contextOf(event)?.incoming
    return incoming ? hidesBody(incoming) : event.req.body !== null
  },
  isOver: (event: H3Event, waited) => isAbandoned(event.req, contextOf(event), waited),
}

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<H3Event> = {
  path: pathOf,
  wholePath: wholePathOf,
  query: ({ url }) => url.search.slice(1),
}

/** What the response of a request is read by. */
export const responseReader: Partial<RequestReader<H3Event>> = { responseHeader: answeredHeader, sendsResponses: true }

/** How a request that waits learns that its client has disconnected. */
export const listeningReader: Pick<RequestReader<H3Event>, 'onClientClosed'> = {
  onClientClosed: (event, listener) => whenAbandoned(event.req, contextOf(event), listener),
}

export const reader: RequestReader<H3Event> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  responseReader,
  listeningReader,
)
