import { type Logger, QuotaError } from '@spillway/core'
import {
  type AdapterParts,
  type DecisionReader,
  type LimitOf,
  type RequestDecision,
  type Verdict,
  withGuard,
} from '@spillway/core/http'
import { calledByHand, formatValue, warnOnce } from '@spillway/core/internal'
import type {
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
} from 'fastify'
import { deny, isLate, setHeaders } from './reply.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision of `rateLimit`; undefined if the request was not counted. */
    rateLimit?: RequestDecision | undefined
  }
}

/** The hook of a lean entry, which is also a plugin. */
export interface LeanRateLimit extends onRequestHookHandler, FastifyPluginCallback, DecisionReader<FastifyRequest> {}

/** Makes a hook of a guard. */
export const limitOf: LimitOf<FastifyRequest, FastifyReply, AdapterParts<FastifyRequest>, LeanRateLimit> = (
  guard,
  parts,
) => {
  const { logger } = guard
  const examine = examiner(logger)
  const hook: onRequestHookHandler = (request, reply, done) => {
    const called = typeof done === 'function'
    const app = request as unknown as Partial<FastifyInstance> | undefined
    if (called && typeof app?.addHook === 'function') {
      return register(app as FastifyInstance, reply as object, hook, done)
    }
    if (!called || typeof reply?.header !== 'function') {
      throw calledByHand('(request, reply, done)', [request, reply, done])
    }
    if (reply.raw.headersSent) {
      warnOnce(logger, 'WARN_SPILLWAY_RESPONSE_HOOK', AFTER_RESPONSE)
      done()
      return
    }
    examine(request)
    const verdict = guard(request, reply)
    if (!(verdict instanceof Promise)) follow(verdict, request, reply, done, parts)
    else
      verdict.then((known) => follow(known, request, reply, done, parts)).catch((error) => isLate(reply) || done(error))
  }
  // The plugin applies to the app that registers it, not to an encapsulated context.
  const plugin = Object.assign(hook as onRequestHookHandler & FastifyPluginCallback, {
    [Symbol.for('skip-override')]: true,
  })
  return withGuard(plugin, guard)
}

const AFTER_RESPONSE =
  'rateLimit(…) runs after the response, where it limits nothing. Add it as an earlier hook: onRequest, or preHandler.'

const prefixed = (): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    "app.register(rateLimit(…), { prefix }) limits the whole app. Register it in the plugin that has the prefix, or set match: { path: '/api/*' }.",
  )

/** What is wrong with a route that has options for @fastify/rate-limit in an app that does not have it. */
function ignoredConfig(
  app: FastifyInstance,
  { url, config }: { readonly url?: string | undefined; readonly config?: object },
): string | undefined {
  const own = (config as { readonly rateLimit?: unknown } | undefined)?.rateLimit
  if (own === undefined || own === null || app.hasDecorator('rateLimit')) return undefined
  return `config.rateLimit of the route ${formatValue(url)} needs @fastify/rate-limit. Write { onRequest: rateLimit({ name: 'login', quota: perMinute(3) }) }.`
}

/** Returns a function that examines the routes of a limiter's first 1,000 requests: to read the config of a route takes time. */
function examiner(logger: Logger): (request: FastifyRequest) => void {
  let unexamined = 1_000
  return (request) => {
    if (unexamined === 0) return
    unexamined--
    const ignored = ignoredConfig(request.server, request.routeOptions)
    if (ignored) warnOnce(logger, 'WARN_SPILLWAY_ROUTE_CONFIG', ignored)
  }
}

/** The plugin: `app.register(rateLimit(…))` adds the hook to the app. */
function register(
  app: FastifyInstance,
  options: object,
  hook: onRequestHookHandler,
  done: (error?: Error) => void,
): void {
  const refused = 'prefix' in options
  if (!refused) {
    app.addHook('onRequest', hook)
    app.addHook('onRoute', function (this: FastifyInstance, route) {
      const ignored = ignoredConfig(this, route)
      if (ignored) throw new QuotaError('ERR_SPILLWAY_OPTION', ignored)
    })
  }
  // Not thrown: no code could catch it.
  done(refused ? prefixed() : undefined)
}

/** Applies a verdict. */
function follow(
  { decision, headers, denial, answer, after }: Verdict<FastifyReply>,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
  { join, whenAnswered }: AdapterParts<FastifyRequest>,
): void {
  const limited = request.rateLimit !== undefined
  if (decision) request.rateLimit = decision
  setHeaders(
    reply,
    join(headers, limited, (name) => reply.getHeader(name)),
  )
  if (after) whenAnswered?.(reply.raw, (status, ended) => void after(status, reply, ended))
  if (denial === undefined) {
    done()
    return
  }
  const own = answer ? answer(reply) : denial
  if (!(own instanceof Promise)) deny(reply, own)
  else own.then((known) => deny(reply, known)).catch((error) => isLate(reply) || done(error))
}

/** The last decision of `rateLimit` about a request; undefined if the request was not counted. */
export const decisionOf = (request: FastifyRequest): RequestDecision | undefined => request.rateLimit
