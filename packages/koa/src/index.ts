import type { Decision } from '@spillway/core'
import { httpGuard, type RateLimitOptions, type RequestReader } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Context, Middleware } from 'koa'

declare module 'koa' {
  interface DefaultState {
    /** What `rateLimit` decided; undefined where the request was not counted. */
    rateLimit?: Decision | undefined
  }
}

const reader: RequestReader<Context> = {
  address: (ctx) => ctx.ip,
  method: (ctx) => ctx.method,
  path: (ctx) => ctx.path,
  header: (ctx, name) => ctx.get(name) || undefined,
  query: (ctx, name) => (typeof ctx.query[name] === 'string' ? ctx.query[name] : undefined),
  onGone: (ctx, listener) => {
    ctx.res.on('close', listener)
    return () => ctx.res.off('close', listener)
  },
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit(options: RateLimitOptions<Context>): Middleware {
  const guard = httpGuard({ store: memoryStore(), ...options }, reader)
  return async (ctx, next) => {
    const { decision, headers, refusal } = await guard(ctx)
    ctx.state.rateLimit = decision
    for (const [name, value] of headers) ctx.set(name, value)
    if (refusal === undefined) return next()
    ctx.status = refusal.status
    ctx.type = refusal.contentType
    ctx.body = refusal.body
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
