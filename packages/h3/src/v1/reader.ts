import {
  connectionAddress,
  hidesBody,
  isAbandoned,
  isClosed,
  isOver,
  nodeHeader,
  type PlainReader,
  type RequestReader,
  type RouteReader,
  sentHeader,
  targetOf,
  whenAbandoned,
  whenClosed,
} from '@spillway/core/http'
import type { H3Event } from 'h3'

const header = ({ node: { req } }: H3Event, name: string): string | undefined => nodeHeader(req.headers, name)

/** Where the context of an event has the address of its connection. */
const ADDRESS = Symbol.for('spillway.address')

interface Context {
  [ADDRESS]?: string | undefined
}

/**
 * Reads the address of the connection into the context. Servers other than Node's pass it as h3's `getRequestIP` expects,
 * or leave h3 a socket with an empty address. Nitro passes the context of an event with the requests that its handler
 * sends to the same app, as `useFetch` does in Nuxt: without a connection of their own, they come from the same client.
 */
export function readAddress(event: H3Event): void {
  const { context, node } = event
  const headers = { get: (name: string): string | null => header(event, name) ?? null }
  const { __unenv__: caller } = node.req as { readonly __unenv__?: Context }
  const address = context.clientAddress || connectionAddress({ headers }, { incoming: node.req }) || caller?.[ADDRESS]
  Object.assign(context, { [ADDRESS]: address })
}

const addressOf = ({ context }: H3Event): string | undefined => (context as Context)[ADDRESS]

/**
 * The path as it was requested, and the path of the event. They differ in an app that is mounted below a prefix, if
 * something has rewritten the URL, and if h3 has decoded it. A decoded question mark ends the path that h3 routes.
 */
function pathOf({ node: { req }, path }: H3Event): readonly string[] {
  const target = req.originalUrl ?? path
  const end = target.search(/\?|%3f/i)
  return [end < 0 ? target : target.slice(0, end), targetOf(path).beforeQuery]
}

/** Without the path of the event if that is what mounts have left of the routed one. */
function wholePathOf(event: H3Event): readonly string[] {
  const path = pathOf(event)
  const [routed = '', below = routed] = path
  return routed.startsWith('/') && routed.endsWith(below) ? path.slice(0, 1) : path
}

/**
 * The query, as a URL parser and as h3's getQuery read it. getQuery is not imported, because another version of h3 may be
 * installed.
 */
function queriesOf({ path }: H3Event): readonly string[] {
  // getQuery looks for a user name behind two slashes, beyond the question mark.
  const { query } = targetOf(path)
  if (/^\/[^/\\]/.test(path.slice(0, 2))) return [query]
  return [query, targetOf(path.replace(/^([\w+.-]{2,}:)?[/\\]{2}[^/\\@]+@/, '')).query]
}

/**
 * Calls back once when the response is over or its client has disconnected, which the response reports in Node, and the
 * `Request` elsewhere. Returns the function that stops listening.
 */
export function whenOver({ node, web }: H3Event, listener: () => void): () => void {
  if (!web?.request) return whenClosed(node.res, listener)
  const stops: (() => void)[] = []
  const stop = (): void => {
    for (const each of stops) each()
  }
  const over = (): void => {
    stop()
    listener()
  }
  stops.push(whenClosed(node.res, over))
  stops.push(whenAbandoned(web.request, undefined, over))
  return stop
}

/** Whether the response is over. If so, h3 must stop: it would call the next handler for a client that has left. */
export function isLate(event: H3Event, waited: boolean): boolean {
  const { node, web } = event
  event._handled ||= event.handled || (web?.request ? isAbandoned(web.request, undefined, waited) : isOver(node.res))
  return event._handled
}

/** What every limiter reads of a request. */
export const plainReader: PlainReader<H3Event> = {
  address: addressOf,
  peer: addressOf,
  method: ({ method }) => method,
  header,
  // Without a server of Node, the body is beside the message, and the response has no socket.
  hidesBody: ({ node: { req, res }, web }) =>
    res.socket ? hidesBody(req) : ((web?.request ?? req) as { readonly body?: unknown }).body != null,
  responseHeader: ({ node }: H3Event, name) => sentHeader(node.res, name),
  identity: ({ node }) => node.req,
  sendsResponses: true,
  isOver: isLate,
}

/** Whether the client has disconnected. */
export const isEventClosed = ({ node, web }: H3Event): boolean =>
  isClosed(node.res) || (web?.request ? isAbandoned(web.request, undefined) : false)

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<H3Event> = {
  path: pathOf,
  wholePath: wholePathOf,
  hasEmptyParameters: () => true,
  mountsByText: true,
  query: queriesOf,
}

/** How a request that waits learns that its client has disconnected. */
export const listeningReader: Pick<RequestReader<H3Event>, 'onClientClosed'> = {
  onClientClosed: whenOver,
}

export const reader: RequestReader<H3Event> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  listeningReader,
)
