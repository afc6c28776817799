import { QuotaError } from '@spillway/core'
import { srvxContext } from '@spillway/core/http'
import { formatValue, hasMethod, invalidOption } from '@spillway/core/internal'
import type { AnyElysia } from 'elysia'
import { answerOf } from './answer.ts'
import { enterFetch, type FetchCall, responseOf } from './fetch-call.ts'
import { httpShedder, type ShedOptions } from './http.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

/** A plugin for Elysia, with the shedder that decides about its requests. */
export interface Shed {
  /** Drops requests to an app: pass it to `app.use`, first. */
  <App extends AnyElysia>(app: App): App
  /** Decides about the requests. */
  readonly shedder: Shedder
}

type Handler = (request: Request, ...rest: readonly unknown[]) => Response | Promise<Response>

/**
 * Returns a plugin that drops requests while too many are in flight, before anything else of the app runs. Throws a `QuotaError` if
 * an option is invalid.
 *
 * @example
 * elysia.use(elysiaShed())
 */
export function shed(options: ShedOptions<Request> = {}): Shed {
  const { shedder, callOf } = httpShedder(options)
  /** The requests that have been here, some with an error, which Elysia handles only if one of its hooks throws it. */
  const errors = new WeakMap<Request, unknown>()
  const enterOf = async (request: Request): Promise<FetchCall | undefined> => {
    // An app and a plugin that it uses may both have this one.
    if (errors.has(request)) return undefined
    errors.set(request, undefined)
    try {
      return await enterFetch(shedder, callOf(request), request, srvxContext(request))
    } catch (error) {
      errors.set(request, error)
      return undefined
    }
  }
  const wrapper =
    (handler: Handler): Handler =>
    async (request, ...rest) => {
      const call = await enterOf(request)
      if (call === undefined) return handler(request, ...rest)
      const { decision, responded, threw } = call
      if (!decision?.allowed) return responseOf(decision && answerOf(decision))
      try {
        const response = await handler(request, ...rest)
        if (response instanceof Response) return responded(response)
        // Bun has upgraded the connection.
        decision.abort()
        return response
      } catch (thrown) {
        threw()
        throw thrown
      }
    }
  const plugin = <App extends AnyElysia>(app: App): App => {
    if (!hasMethod(app, 'wrap')) throw calledByHand(app)
    if (app.config.aot === false) throw withoutCompilation()
    app.wrap(wrapper as never)
    app.onRequest(({ request, set }) => {
      const error = errors.has(request) ? errors.get(request) : inGroup()
      if (error === undefined) return
      // Elysia would answer with 200.
      set.status = 500
      throw error
    })
    return app
  }
  return Object.assign(plugin, { shedder })
}

const calledByHand = (app: unknown): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', `shed is called as (app): app.use(shed()); got (${formatValue(app)}).`)

const withoutCompilation = (): QuotaError =>
  invalidOption(
    'Elysia calls no wrapper without compilation: write shed()(app.fetch), with shed of @spillway/shed/fetch',
    {
      aot: false,
    },
  )

const inGroup = (): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'Elysia drops what a plugin in a group wraps, so that nothing would be shed: write app.use(shed()) for the app itself.',
  )
