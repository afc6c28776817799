import {
  hasHiddenBody,
  LooseUrl,
  pathBelow,
  type RequestReader,
  type RouteReader,
  whenAbandoned,
} from '@spillway/core/http'
import type { Context } from 'hono'
import { plainReader } from './plain-reader.ts'

// What costs and preflights read.
const hidesBody = (c: Context): boolean => hasHiddenBody(c.req.raw, c.env)

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<Context> = {
  path: (c) => c.req.path,
  // `app.use('/api/*', …)`, also by `app.route('/api', …)`.
  pathInMount: ({ req }) => (req.routePath.endsWith('*') ? pathBelow(req.routePath.slice(0, -1), req.path) : undefined),
  // Hono takes a fragment for a part of the query; a handler that parses the URL does not. Before 4.10, `c.req.query(name)` also
  // finds a parameter behind a second question mark, or in the path. It is not called: its parser takes time quadratic in the
  // query, or decodes by exceptions.
  query: ({ req: { url } }) => new LooseUrl(url),
  hidesBody,
}

/** What the response of a request is read by. */
export const responseReader: Partial<RequestReader<Context>> = {
  responseHeader: (c: Context, name) => c.res.headers.get(name),
  sendsResponses: true,
  hidesBody,
}

/** How a request that waits learns that its client has disconnected. */
export const listeningReader: Pick<RequestReader<Context>, 'onClientClosed'> = {
  onClientClosed: (c, listener) => whenAbandoned(c.req.raw, c.env, listener),
}

export const reader: RequestReader<Context> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  responseReader,
  listeningReader,
)
