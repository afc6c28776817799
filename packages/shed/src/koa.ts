import { isOver } from '@spillway/core/http'
import type { Context, Middleware } from 'koa'
import { type Answer, answerOf } from './answer.ts'
import { enterWith, httpShedder, type ShedOptions } from './http.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

/** Middleware for Koa, with the shedder that decides about its requests. */
export interface Shed extends Middleware {
  /** Decides about the requests. */
  readonly shedder: Shedder
}

/**
 * Returns middleware that drops requests while too many are in flight: put it first. Throws a `QuotaError` if an option is
 * invalid.
 *
 * @example
 * koa.use(koaShed())
 */
export function shed(options: ShedOptions<Context> = {}): Shed {
  const { shedder, callOf } = httpShedder(options)
  const middleware: Middleware = async (ctx, next) => {
    if (isOver(ctx.res)) return
    const decision = await enterWith(shedder, callOf(ctx), ctx.res)
    if (decision === undefined) return
    if (decision.allowed) await next()
    else answer(ctx, answerOf(decision))
  }
  return Object.assign(middleware, { shedder })
}

function answer(ctx: Context, { status, headers, body }: Answer): void {
  ctx.status = status
  for (const [name, value] of headers) ctx.set(name, value)
  ctx.body = body
}
