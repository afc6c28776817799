import type { Context, MiddlewareHandler } from 'hono'
import { answerOf } from './answer.ts'
import { enterFetch, responseOf } from './fetch-call.ts'
import { httpShedder, type ShedOptions } from './http.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

/** Middleware for Hono, with the shedder that decides about its requests. */
export interface Shed extends MiddlewareHandler {
  /** Decides about the requests. */
  readonly shedder: Shedder
}

/**
 * Returns middleware that drops requests while too many are in flight: put it first. Throws a `QuotaError` if an option is
 * invalid.
 *
 * @example
 * hono.use(honoShed())
 */
export function shed(options: ShedOptions<Context> = {}): Shed {
  const { shedder, callOf } = httpShedder(options)
  const middleware: MiddlewareHandler = async (c, next) => {
    const { decision, responded, threw } = await enterFetch(shedder, callOf(c), c.req.raw, c.env)
    if (!decision?.allowed) return responseOf(decision && answerOf(decision))
    try {
      await next()
    } catch (thrown) {
      threw()
      throw thrown
    }
    const response = responded(c.res)
    if (response !== c.res) {
      // Hono adds the headers of the response before to the one that replaces it.
      c.res = undefined
      c.res = response
    }
    return undefined
  }
  return Object.assign(middleware, { shedder })
}
