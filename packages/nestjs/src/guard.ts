import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { joinHeaders, type Verdict, whenAnswered } from '@spillway/core/http'
import { nodeResponse, type PlatformResponse, responseOf, setHeader } from './context.ts'
import { keepDecision } from './decisions.ts'
import { RateLimitException } from './exception.ts'
import { RateLimiter } from './limiter.ts'

/** Limits calls. The module applies it to HTTP and GraphQL; apply it to gateways with `@UseGuards(RateLimitGuard)`. */
export class RateLimitGuard implements CanActivate {
  /** The limits of the app. */
  protected readonly limiter: RateLimiter

  constructor(limiter: RateLimiter) {
    this.limiter = limiter
  }

  /** Counts a call. Throws a `RateLimitException` if it is denied. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const guard = this.limiter.guardFor(context)
    // Since Nest 12, the global guard also runs for gateways, before theirs.
    if (guard === undefined || (context.getType() === 'ws' && guard.decisionOf(context))) return true
    const verdict = guard(context, context)
    return verdict instanceof Promise ? verdict.then((known) => follow(known, context)) : follow(verdict, context)
  }
}

Injectable()(RateLimitGuard)
Inject(RateLimiter)(RateLimitGuard, undefined, 0)

function follow(
  { decision, headers, denial, answer, after }: Verdict<PlatformResponse>,
  context: ExecutionContext,
): true | Promise<true> {
  const response = responseOf(context)
  const limited = keepDecision(context, decision)
  if (response) {
    for (const [name, value] of joinHeaders(headers, limited, (name) => response.getHeader(name)))
      setHeader(response, name, value)
    if (after) whenAnswered(nodeResponse(response), (status, ended) => void after(status, response, ended))
  }
  if (denial === undefined) return true
  const own = answer ? answer(response) : denial
  if (!(own instanceof Promise)) throw new RateLimitException(own ?? denial, decision)
  return own.then((known) => {
    throw new RateLimitException(known ?? denial, decision)
  })
}
