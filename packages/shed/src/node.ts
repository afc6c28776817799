import { QuotaError } from '@spillway/core'
import { failRequest, isOver, type NodeNext, type NodeRequest, release, responseTo } from '@spillway/core/http'
import { checkLogger, formatThrown, formatValue, warnOnce } from '@spillway/core/internal'
import { answerOf } from './answer.ts'
import { type Decision, enterWith, httpShedder, type ShedOptions } from './http.ts'
import { answerNode } from './node-answer.ts'
import type { CallOptions, Shedder } from './shedder.ts'

/** Middleware for the requests of a Node server, with the shedder that decides about them. */
export interface Shed<R> {
  /** Calls `next` if the request is allowed, and answers it with 503 otherwise. */
  (request: R, response: unknown, next: NodeNext): void
  readonly shedder: Shedder
}

/**
 * Returns middleware that drops requests while too many are in flight: put it first. For Node, Express and Connect. Throws a
 * `QuotaError` if an option is invalid.
 *
 * @example
 * app.use(shed())
 */
export function shed<R extends NodeRequest = NodeRequest>(options: ShedOptions<R> = {}): Shed<R> {
  const { shedder, callOf } = httpShedder(options)
  const logger = checkLogger(options.logger)
  const report = (error: unknown): void => warnOnce(logger, 'WARN_SPILLWAY_NEXT', UNHANDLED, formatThrown(error))
  const middleware = (request: R, passed: unknown, next: NodeNext): void => {
    const isCalled = typeof next === 'function' && typeof request === 'object' && request !== null
    const response = isCalled ? responseTo(request, passed) : undefined
    if (response === undefined) throw calledByHand([request, passed, next])
    if (isOver(response)) return
    const follow = (decision: Decision): void => {
      if (decision === undefined) return
      if (!decision.allowed) {
        answerNode(response, answerOf(decision))
        return
      }
      if (response !== passed) release(response)
      try {
        next()
      } catch (thrown) {
        // A server without a framework may not answer: the response would never be over.
        decision.fail()
        throw thrown
      }
    }
    let call: Omit<CallOptions, 'signal'>
    try {
      call = callOf(request)
    } catch (error) {
      failRequest(error, request, response, next, report)
      return
    }
    const decision = enterWith(shedder, call, response)
    if (decision instanceof Promise) void decision.then(follow)
    else follow(decision)
  }
  return Object.assign(middleware, { shedder })
}

const UNHANDLED = 'shed failed, and next did not handle its error, so that the request was answered with 500: '

const calledByHand = (args: readonly unknown[]): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `shed is called as (req, res, next); got (${args.map(formatValue).join(', ')}). For what is no HTTP request, ` +
      'write await shedder().run(work).',
  )
