import type { Decision } from '@spillway/core'
import { httpGuard, type RateLimitOptions, type RequestReader, type Verdict } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import type { Request, RequestHandler } from 'express'

declare global {
  namespace Express {
    interface Request {
      /** What `rateLimit` decided; undefined where the request was not counted. */
      rateLimit?: Decision | undefined
    }
  }
}

const reader: RequestReader<Request> = {
  address: (req) => req.ip,
  method: (req) => req.method,
  path: (req) => req.path,
  header: (req, name) => req.get(name),
  query: (req, name) => (typeof req.query[name] === 'string' ? req.query[name] : undefined),
  onGone: (req, listener) => {
    req.res?.on('close', listener)
    return () => req.res?.off('close', listener)
  },
}

/**
 * Limits requests, by client IP and in memory unless told otherwise.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit(options: RateLimitOptions<Request>): RequestHandler {
  const guard = httpGuard({ store: memoryStore(), ...options }, reader)
  return (req, res, next) => {
    const settle = ({ decision, headers, refusal }: Verdict): void => {
      req.rateLimit = decision
      for (const [name, value] of headers) res.setHeader(name, value)
      if (refusal) res.status(refusal.status).type(refusal.contentType).send(refusal.body)
      else next()
    }
    const verdict = guard(req)
    if (verdict instanceof Promise) verdict.then(settle, next)
    else settle(verdict)
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
