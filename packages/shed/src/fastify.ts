import { isOver } from '@spillway/core/http'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { answerOf } from './answer.ts'
import { type Decision, enterWith, httpShedder, type ShedOptions } from './http.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

// Fastify adds a charset to the media type of a text.
const asItIs = (body: unknown): string => body as string

/** A hook for Fastify, with the shedder that decides about its requests. */
export interface Shed {
  (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void
  /** Decides about the requests. */
  readonly shedder: Shedder
}

/**
 * Returns an `onRequest` hook that drops requests while too many are in flight: add it first. Throws a `QuotaError` if an option
 * is invalid.
 *
 * @example
 * fastify.addHook('onRequest', fastifyShed())
 */
export function shed(options: ShedOptions<FastifyRequest> = {}): Shed {
  const { shedder, callOf } = httpShedder(options)
  const hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    if (isOver(reply.raw)) return
    const follow = (decision: Decision): void => {
      if (decision === undefined) return
      if (decision.allowed) {
        done()
        return
      }
      const { status, headers, body } = answerOf(decision)
      reply.code(status).headers(Object.fromEntries(headers)).serializer(asItIs).send(body)
    }
    let call: ReturnType<typeof callOf>
    try {
      call = callOf(request)
    } catch (error) {
      done(error as Error)
      return
    }
    const decision = enterWith(shedder, call, reply.raw)
    if (decision instanceof Promise) void decision.then(follow)
    else follow(decision)
  }
  return Object.assign(hook, { shedder })
}
