import {
  connectionAddress,
  fetchHeader,
  hasHiddenBody,
  incomingOf,
  pathBelow,
  type RequestReader,
  targetOf,
  whenAbandoned,
} from '@spillway/core/http'
import type { Context } from 'hono'

// Outside Workers, the bindings are what the runtime passes beside the request.
const peer = (c: Context): string | undefined => connectionAddress(c.req.raw, c.env)

/** The contexts that are one request: the first, and the one with another method that methodOverride makes of it. */
interface Contexts {
  readonly first: Context
  overriding?: Context
}

const CONTEXTS = Symbol.for('spillway/1 contexts')

/**
 * The identity of a request. Not `c.req.raw`, which middleware such as bodyLimit replaces. On the Node server it is the
 * incoming message, because methodOverride passes a new request to the app. An app may also make requests for the same path
 * by itself, such as each login of a batch: these are requests of their own.
 */
export function identityOf(c: Context): object {
  const incoming = incomingOf(c.req.raw, c.env) as { [CONTEXTS]?: Contexts } | undefined
  if (incoming === undefined) return c
  incoming[CONTEXTS] ??= { first: c }
  const contexts = incoming[CONTEXTS]
  if (contexts.first.req.method !== c.req.method) contexts.overriding ??= c
  return contexts.first === c || contexts.overriding === c ? incoming : c
}

/** A URL whose query all read alike, if it is the whole one. */
const PLAIN = /^[^:]+:\/\/[^/]*\/[^&?#]*(?:\?([^?#]*))?/

/**
 * The readings of the query. Hono takes a fragment for a part of the query; a handler that parses the URL does not. Before 4.10,
 * `c.req.query(name)` also finds a parameter behind a second question mark, or in the path. It is not called: its parser takes
 * time quadratic in the query, or decodes by exceptions.
 */
function queriesOf({ req: { url } }: Context): string | readonly string[] {
  const [plain, query = ''] = PLAIN.exec(url) ?? []
  return plain === url ? query : [targetOf(url).query, url.replace(/[?#]/g, '&')]
}

export const reader: RequestReader<Context> = {
  address: peer,
  peer,
  method: (c) => c.req.method,
  path: (c) => c.req.path,
  // `app.use('/api/*', …)`, also by `app.route('/api', …)`.
  pathInMount: ({ req }) => (req.routePath.endsWith('*') ? pathBelow(req.routePath.slice(0, -1), req.path) : undefined),
  header: (c, name) => fetchHeader(c.req.raw, name),
  query: queriesOf,
  hidesBody: (c) => hasHiddenBody(c.req.raw, c.env),
  responseHeader: (c: Context, name) => c.res.headers.get(name),
  identity: identityOf,
  sendsResponses: true,
  onClientClosed: (c, listener) => whenAbandoned(c.req.raw, c.env, listener),
}
