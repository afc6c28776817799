import {
  connectionAddress,
  httpGuard,
  joined,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
  type RequestReader,
  whenAborted,
} from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Context, MiddlewareHandler } from 'hono'
import { nextThen } from './sent.ts'

declare module 'hono' {
  interface ContextVariableMap {
    /** What `rateLimit` decided; undefined where the request was not counted. */
    rateLimit: RequestDecision | undefined
  }
}

/** What `rateLimit` takes. */
export type RateLimitOptions<Name extends string = string> = Options<Context, Context, Name>

/** The middleware, what it decides, and a way to put other policies in force without losing counts. */
export interface RateLimit<Name extends string = string> extends MiddlewareHandler<Counted<Name>> {
  /** What this limiter has decided about a request, by the names of its policies. */
  decisionOf(c: Context): RequestDecision<Name> | undefined
  /** Puts other policies in force for the requests to come; those that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<Context, Context>[]): void
}

/** What handlers that come after it, in one chain, find by `c.get('rateLimit')`. */
export interface Counted<Name extends string = string> {
  Variables: { rateLimit: RequestDecision<Name> | undefined }
}

// Outside Workers, the bindings are what the runtime hands over beside the request.
const peer = (c: Context): string | undefined => connectionAddress(c.req.raw, c.env)

const reader: RequestReader<Context> = {
  address: peer,
  peer,
  method: (c) => c.req.method,
  path: (c) => c.req.path,
  header: (c, name) => c.req.header(name),
  query: (c, name) => c.req.query(name),
  identity: (c) => c.req.raw,
  onGone: (c, listener) => whenAborted(c.req.raw.signal, listener),
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<Context, Context, Name>({ store: memoryStore(), ...options }, reader)
  const middleware: MiddlewareHandler<Counted<Name>> = async (c, next) => {
    const verdict = guard(c)
    // Not awaited where it is there already: a promise costs more than the decision.
    const { decision, headers, refusal, after } = verdict instanceof Promise ? await verdict : verdict
    // Asking for c.res makes a response, so that is left until another limiter is known to have set its headers there.
    const before = c.get('rateLimit') ? c.res.headers : undefined
    if (decision) c.set('rateLimit', decision)
    const joint = headers.map((header) => [header[0], joined(before?.get(header[0]), header)] as const)
    const tell = (): void => joint.forEach(([name, value]) => c.header(name, value))
    tell()
    if (refusal) {
      const own = { ...Object.fromEntries(refusal.headers), 'Content-Type': refusal.contentType }
      return new Response(refusal.body, { status: refusal.status, headers: { ...Object.fromEntries(joint), ...own } })
    }
    await (after ? nextThen(c, next, (status) => after(status, c)) : next())
    // A handler that answers with a Response of its own has not seen the headers set above.
    if (joint[0] && !c.res.headers.get(joint[0][0])?.includes(joint[0][1])) tell()
  }
  return Object.assign(middleware, { replace: guard.replace, decisionOf: guard.decisionOf })
}

export {
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  shareOf,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core'
export { memoryStore, rateLimiter } from '@spillway/memory'
