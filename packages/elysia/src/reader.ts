import {
  connectionAddress,
  fetchHeader,
  hasHiddenBody,
  isAbandoned,
  LooseUrl,
  type PlainReader,
  pathBelow,
  type Query,
  type RequestReader,
  type RouteReader,
  type RuntimeContext,
  srvxContext,
  targetOf,
  whenAbandoned,
} from '@spillway/core/http'
import type { PreContext } from 'elysia'

/** The part of Elysia's context that is known before the route is: what `key` and other functions read. */
export type RequestContext = Pick<PreContext, 'request' | 'server' | 'set'>

/** The context with the prefix of the app that has the limiter. */
export interface PrefixedContext extends RequestContext {
  readonly prefix?: string | undefined
}

/** What knows the connection of a request: Bun's server, or the server of Elysia's Node adapter. */
export const runtimeOf = ({ request, server }: RequestContext): RuntimeContext | undefined =>
  srvxContext(request) ?? (server ? ({ server } as RuntimeContext) : undefined)

const peer = (context: RequestContext): string | undefined => connectionAddress(context.request, runtimeOf(context))

/**
 * The path as the router reads it: it is looked for behind the shortest usual host name. Elysia takes a fragment for a part of the
 * path or of the query; a handler that parses the URL does not.
 */
function pathOf({ request: { url } }: RequestContext): string | readonly string[] {
  const { start, beforeQuery } = targetOf(url)
  const whole = beforeQuery.slice(start) || '/'
  if (start >= SHORTEST) return whole
  const routed = url.slice(Math.max(0, url.indexOf('/', SHORTEST)))
  const query = routed.indexOf('?')
  return [query < 0 ? routed : routed.slice(0, query), whole]
}

const SHORTEST = 'http://a.bc'.length

/** Elysia finds parameters in a fragment, too. */
function queriesOf({ request: { url } }: RequestContext): Query {
  const { query, beforeQuery } = targetOf(url)
  const loose = new LooseUrl(url.slice(beforeQuery.length + 1), true)
  // Behind a fragment, a handler that parses the URL finds none.
  return query === '' ? ['', loose] : loose
}

/** Whether the response is over. */
export const isOver = (context: RequestContext, waited = true): boolean =>
  isAbandoned(context.request, runtimeOf(context), waited)

/** What every limiter reads of a request. */
export const plainReader: PlainReader<RequestContext> = {
  address: peer,
  peer,
  method: ({ request }) => request.method,
  header: ({ request }, name) => fetchHeader(request, name),
  hidesBody: (context) => hasHiddenBody(context.request, runtimeOf(context)),
  responseHeader: ({ headers }: Response, name) => headers.get(name),
  identity: ({ request }) => request,
  sendsResponses: true,
  isOver,
}

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<RequestContext> = {
  path: pathOf,
  pathInMount: ({ prefix = '', request }: PrefixedContext) =>
    prefix === '' ? undefined : pathBelow(prefix, new URL(request.url).pathname),
  query: queriesOf,
}

/** How a request that waits learns that its client has disconnected. */
export const listeningReader: Pick<RequestReader<RequestContext>, 'onClientClosed'> = {
  onClientClosed: (context, listener) => whenAbandoned(context.request, runtimeOf(context), listener),
}

export const reader: RequestReader<RequestContext> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  listeningReader,
)
