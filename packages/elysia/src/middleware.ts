import {
  type AdapterParts,
  type DecisionReader,
  type Denial,
  type LimitOf,
  type RequestDecision,
  withGuard,
} from '@spillway/core/http'
import { calledByHand, hasMethod, processState } from '@spillway/core/internal'
import type { AnyElysia } from 'elysia'
import type { PrefixedContext, RequestContext } from './reader.ts'
import type { settleLater } from './sent.ts'
import type { settleIn } from './settle-in.ts'

/** The plugin of a lean entry. */
export interface LeanRateLimit extends DecisionReader<Request> {
  /** Limits every request to an app, with a route or without: pass it to `app.use`. */
  <App extends AnyElysia>(app: App): App
}

/** What only some features need of this adapter. */
export interface ElysiaParts extends AdapterParts<RequestContext> {
  readonly settleLater?: typeof settleLater
  readonly settleIn?: typeof settleIn
}

const decisions = (): WeakMap<Request, RequestDecision> => processState('elysia decisions', () => new WeakMap())

/** Makes a plugin of a guard. */
export const limitOf: LimitOf<RequestContext, Response, ElysiaParts, LeanRateLimit> = (
  guard,
  { join, settleLater, settleIn },
) => {
  const apply = async (context: RequestContext): Promise<Response | undefined> => {
    const { request, set } = context
    const { decision, headers, denial, answer, after } = await guard(context, context)
    const limited = decisions().has(request)
    if (decision) decisions().set(request, decision)
    // Elysia writes names in lower case, and two spellings of one name would be sent twice.
    const before = (name: string): unknown => set.headers[name.toLowerCase()]
    for (const [name, value] of join(headers, limited, before)) set.headers[name.toLowerCase()] = value
    if (after) settleLater?.(request, after)
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
    // Elysia before 1.4.30 lets Bun answer routes without a handler, before any hook, and runs hooks when it adds such a route.
    app.config.nativeStaticResponse = false
    app.router.response = {}
    app.onRequest(async ({ request, server, set }) => await limit({ request, server, set, prefix }))
    settleIn?.(app)
    return app
  }
  const decisionOf = (request: Request) => guard.decisionOf({ request } as RequestContext)
  return Object.assign(withGuard(plugin, guard), { decisionOf })
}

function denied({ method }: Request, { status, contentType, headers, body, response }: Denial): Response {
  // A copy, because Elysia adds headers, and those of a redirection are immutable.
  if (response) return new Response((response as Response).body, response as Response)
  const fields = [...headers, ['Content-Type', contentType]] as [string, string][]
  return new Response(method === 'HEAD' ? null : body || null, { status, headers: fields })
}

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (request: Request): RequestDecision | undefined => decisions().get(request)
