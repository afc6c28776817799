// Each user may spend 100 units a minute: a read costs one, and a search costs ten.

import { type Decision, perMinute, RateLimitedError, rateLimiter, type Store } from '@spillway/core'
import { initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'

interface Context {
  readonly user: string
}

/** The decision of a denied procedure; undefined for other errors. */
const denialOf = ({ cause }: TRPCError): Decision | undefined =>
  cause instanceof RateLimitedError ? cause.decision : undefined

const t = initTRPC.context<Context>().create({
  errorFormatter: ({ shape, error }) => ({
    ...shape,
    data: { ...shape.data, retryAfterMs: denialOf(error)?.retryAfterMs },
  }),
})

/** A handler of requests, whose limits are counted in a store. */
export function handlerOn(store: Store): (request: Request) => Promise<Response> {
  const limiter = rateLimiter({ name: 'procedures', quota: perMinute(100), store })
  const limited = (cost: number) =>
    t.procedure.use(async ({ ctx, next }) => {
      const decision = await limiter.consume(ctx.user, cost)
      if (decision.allowed) return next()
      const cause = new RateLimitedError(decision)
      throw new TRPCError({ code: 'TOO_MANY_REQUESTS', message: 'The rate limit is exceeded.', cause })
    })
  const router = t.router({
    read: limited(1).query(() => 'read'),
    search: limited(10).query(() => 'found'),
  })
  return (req) =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req,
      router,
      // Read the user from your own authentication.
      createContext: () => ({ user: req.headers.get('x-user') ?? 'guest' }),
      responseMeta: ({ errors }) => {
        const waits = errors.map((error) => denialOf(error)?.retryAfterMs ?? 0)
        const seconds = Math.ceil(Math.max(0, ...waits) / 1_000)
        return seconds > 0 ? { headers: { 'Retry-After': String(seconds) } } : {}
      },
    })
}
