import { QuotaError } from '@spillway/core'
import { ALL_PARTS, type HttpLimiter, httpGuard, type RateLimitOptions as Options } from '@spillway/core/http'
import { hasMethod } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { limitOf } from './middleware.ts'
import { reader } from './reader.ts'

/** The options of `rateLimit`. */
export type RateLimitOptions<Name extends string = string> = Options<FastifyRequest, FastifyReply, Name>

/**
 * The hook, which is also a plugin, with its decisions, its counts by key, and a way to replace its policies without
 * losing counts.
 */
export interface RateLimit<Name extends string = string>
  extends onRequestHookHandler,
    FastifyPluginCallback,
    HttpLimiter<FastifyRequest, FastifyReply, Name> {}

/**
 * Returns an `onRequest` hook for the app or for a route, which is also a plugin. It limits requests: by default, each
 * client address, in memory. Throws a `QuotaError` if an option is invalid.
 *
 * @example
 * app.addHook('onRequest', rateLimit({ quota: perMinute(100) }))
 */
export function rateLimit<Name extends string = 'default'>(options: RateLimitOptions<Name>): RateLimit<Name> {
  if (hasMethod(options, 'addHook')) throw registeredUncalled()
  const guard = httpGuard<FastifyRequest, FastifyReply, Name>(options, reader, memoryStore)
  return limitOf(guard, ALL_PARTS) as RateLimit<Name>
}

/** The error for `app.register(rateLimit, options)`, as other plugins for Fastify are registered. */
const registeredUncalled = (): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'rateLimit takes its options itself: app.register(rateLimit({ quota: perMinute(100) })); got app.register(rateLimit, …).',
  )
