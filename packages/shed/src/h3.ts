import { srvxContext } from '@spillway/core/http'
import type { H3Event, Middleware } from 'h3'
import { answerOf } from './answer.ts'
import { enterFetch, type FetchCall, responseOf } from './fetch-call.ts'
import { httpShedder, type ShedOptions } from './http.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

/** Middleware for h3 2, with the shedder that decides about its requests. */
export interface Shed extends Middleware {
  /** Decides about the requests. */
  readonly shedder: Shedder
}

/**
 * Returns middleware for h3 2 and Nitro 3 that drops requests while too many are in flight: put it first. Throws a `QuotaError` if
 * an option is invalid.
 *
 * @example
 * h3.use(h3Shed())
 */
export function shed(options: ShedOptions<H3Event> = {}): Shed {
  const { shedder, callOf } = httpShedder(options)
  const middleware: Middleware = async (event, next) => {
    const call = await enterFetch(shedder, callOf(event), event.req, srvxContext(event.req))
    const { decision } = call
    if (!decision?.allowed) return responseOf(decision && answerOf(decision))
    try {
      return sent(await next(), call)
    } catch (thrown) {
      call.threw()
      throw thrown
    }
  }
  return Object.assign(middleware, { shedder })
}

/** What h3 makes a response of: only a stream is still to be read when it returns. */
function sent(result: unknown, { responded, threw }: FetchCall): unknown {
  if (result instanceof Response) return responded(result)
  if (result instanceof ReadableStream) return responded(new Response(result)).body
  // h3 returns errors as well as throwing them.
  if (result instanceof Error) threw()
  else responded(new Response())
  return result
}
