import {
  type ByKey,
  type Denial,
  httpGuard,
  isAbandoned,
  joinHeaders,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestDecision,
} from '@spillway/core/http'
import { calledByHand, hasMethod, processState } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { AnyElysia } from 'elysia'
import { type PrefixedContext, type RequestContext, reader, runtimeOf } from './reader.ts'
import { settleLater } from './sent.ts'
import { settleIn } from './settle-in.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<RequestContext, Response, Name, undefined>

/** The plugin, with its decisions, its counts by key, and a way to replace its policies without losing counts. */
export interface RateLimit<Name extends string = string> extends ByKey<Name> {
  /** Limits every request to an app, with a route or without: pass it to `app.use`. */
  <App extends AnyElysia>(app: App): App
  /**
   * This limiter's decision about a request, with its policy names as types; undefined if the request was not counted.
   */
  decisionOf(request: Request): RequestDecision<Name> | undefined
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<RequestContext, Response, string, undefined>[]): void
}

const decisions = (): WeakMap<Request, RequestDecision> => processState('elysia decisions', () => new WeakMap())

/**
 * Returns a plugin that limits requests: by default, each client address, in memory. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * app.use(rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  const guard = httpGuard<RequestContext, Response, Name, undefined>(options, reader, memoryStore)
  const apply = async (context: RequestContext): Promise<Response | undefined> => {
    const { request, set } = context
    const pending = guard(context)
    const { decision, headers, denial, answer, after, discard } = await pending
    if (isAbandoned(request, runtimeOf(context) ?? {}, pending instanceof Promise)) {
      discard()
      // The client has disconnected: nothing reads this response.
      return new Response(null, { status: 499 })
    }
    const limited = decisions().has(request)
    if (decision) decisions().set(request, decision)
    // Elysia writes names in lower case, and two spellings of one name would be sent twice.
    const before = (name: string): unknown => set.headers[name.toLowerCase()]
    for (const [name, value] of joinHeaders(headers, limited, before)) set.headers[name.toLowerCase()] = value
    if (after) settleLater(request, after)
    return denial && denied(request, (await answer?.(undefined)) ?? denial)
  }
  const limit = (context: PrefixedContext): Promise<Response | undefined> =>
    apply(context).catch((error: unknown) => {
      // Elysia answers an error of this hook with 200, unless the error has a status.
      context.set.status = 500
      throw error
    })
  const plugin = <App extends AnyElysia>(app: App): App => {
    if (!hasMethod(app, 'onRequest')) throw calledByHand('(app)', [app])
    // Elysia reads in a hook's source which parts of a request to parse. So it names them, and awaits in the source.
    const { prefix } = app.config
    app.onRequest(async ({ request, server, set }) => await limit({ request, server, set, prefix }))
    settleIn(app)
    return app
  }
  const decisionOf = (request: Request) => guard.decisionOf({ request } as RequestContext)
  return Object.assign(plugin, { ...guard.byKey, replace: guard.replace, decisionOf })
}

function denied({ method }: Request, { status, contentType, headers, body, response }: Denial): Response {
  // A copy, because Elysia adds headers, and those of a redirection are immutable.
  if (response) return new Response((response as Response).body, response as Response)
  const fields = [...headers, ['Content-Type', contentType]] as [string, string][]
  return new Response(method === 'HEAD' ? null : body || null, { status, headers: fields })
}

/**
 * The decision of `rateLimit` about a request, the last one if there are several; undefined if the request was not
 * counted.
 */
export const decisionOf = (request: Request): RequestDecision | undefined => decisions().get(request)
