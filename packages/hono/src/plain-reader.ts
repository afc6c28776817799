import { connectionAddress, fetchHeader, incomingOf, isAbandoned, type PlainReader } from '@spillway/core/http'
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

/** What every limiter reads of a request. */
export const plainReader: PlainReader<Context> = {
  address: peer,
  peer,
  method: (c) => c.req.method,
  header: (c, name) => fetchHeader(c.req.raw, name),
  identity: identityOf,
  isOver: (c: Context, waited) => c.finalized || isAbandoned(c.req.raw, c.env, waited),
}
