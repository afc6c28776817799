import { QuotaError } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'
import { answerOf } from './answer.ts'
import { enterFetch, responseOf } from './fetch-call.ts'
import { httpShedder, type ShedOptions } from './http.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

/** Wraps handlers, with the shedder that decides about their requests. */
export interface Shed {
  /** Wraps a handler. The result has the same parameters, including what the runtime passes beside the request. */
  <R extends Request, Rest extends readonly unknown[]>(
    handler: (request: R, ...rest: Rest) => Response | Promise<Response>,
  ): (request: R, ...rest: Rest) => Promise<Response>
  /** Decides about the requests. */
  readonly shedder: Shedder
}

/**
 * Returns a function that wraps a handler and drops requests while too many are in flight. Throws a `QuotaError` if an option is
 * invalid.
 *
 * @example
 * const limit = fetchShed()
 * export default { fetch: limit(() => new Response('ok')) }
 */
export function shed(options: ShedOptions<Request> = {}): Shed {
  const { shedder, callOf } = httpShedder(options)
  const limit = <R extends Request, Rest extends readonly unknown[]>(
    handler: (request: R, ...rest: Rest) => Response | Promise<Response>,
  ) => {
    if (typeof handler !== 'function')
      throw new QuotaError('ERR_SPILLWAY_OPTION', `shed(…) is called as (handler); got ${formatValue(handler)}.`)
    return async (request: R, ...rest: Rest): Promise<Response> => {
      const { decision, responded, threw } = await enterFetch(shedder, callOf(request), request, rest[0])
      if (!decision?.allowed) return responseOf(decision && answerOf(decision))
      try {
        return responded(await handler(request, ...rest))
      } catch (thrown) {
        threw()
        throw thrown
      }
    }
  }
  return Object.assign(limit, { shedder })
}
