import type { Decision } from '@spillway/core'
import { httpGuard, type RateLimitOptions, type RequestReader } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Context, MiddlewareHandler } from 'hono'

declare module 'hono' {
  interface ContextVariableMap {
    /** What `rateLimit` decided; undefined where the request was not counted. */
    rateLimit: Decision | undefined
  }
}

const reader: RequestReader<Context> = {
  // The Node server hands its request over in the bindings.
  address: (c) => c.env?.incoming?.socket?.remoteAddress,
  method: (c) => c.req.method,
  path: (c) => c.req.path,
  header: (c, name) => c.req.header(name),
  query: (c, name) => c.req.query(name),
  onGone: (c, listener) => {
    const { signal } = c.req.raw
    signal.addEventListener('abort', listener)
    return () => signal.removeEventListener('abort', listener)
  },
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit(options: RateLimitOptions<Context>): MiddlewareHandler {
  const guard = httpGuard({ store: memoryStore(), ...options }, reader)
  return async (c, next) => {
    const { decision, headers, refusal } = await guard(c)
    c.set('rateLimit', decision)
    const tell = (): void => headers.forEach(([name, value]) => c.header(name, value))
    tell()
    if (refusal) return c.body(refusal.body, refusal.status, { 'Content-Type': refusal.contentType })
    await next()
    // A handler that answers with a Response of its own has not seen the headers set above.
    if (headers[0] && !c.res.headers.has(headers[0][0])) tell()
  }
}

export {
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core'
export { memoryStore, rateLimiter } from '@spillway/memory'
