import { calledByHand } from '../../common/by-hand.ts'
import { formatThrown } from '../../common/errors.ts'
import { andThen, type MaybePromise, promised } from '../../common/maybe-promise.ts'
import { warnOnce } from '../../common/warn.ts'
import { setAnswerHeaders } from '../headers/answer-headers.ts'
import type { Denial } from '../headers/problem.ts'
import type { PlainGuard } from '../pipeline/guard.ts'
import type { AdapterParts } from '../pipeline/parts.ts'
import type { Verdict } from '../pipeline/verdict.ts'
import { isOver } from '../requests/closed.ts'
import type { NodeNext, NodeRequest, NodeResponse } from './types.ts'
import { release, responseTo } from './upgrade.ts'

/** Middleware for the requests of a Node server. */
export interface NodeMiddleware<R> {
  /** Calls `next` if the request is allowed, and answers it otherwise. */
  (request: R, response: unknown, next: NodeNext): void
  /** Resolves to whether the request is allowed; if it is not, it has been answered. Never rejects. */
  (request: R, response: unknown): Promise<boolean>
}

/** What only some features need of it. */
type NodeParts = Pick<AdapterParts<never>, 'join' | 'whenAnswered'>

/**
 * Makes middleware of a guard. In place of a response, it may get the connection of an upgrade, or what engine.io passes for
 * it. If it `needsNext`, it throws without `next`.
 */
export function nodeMiddleware<R extends NodeRequest, S>(
  guard: PlainGuard<R, S>,
  parts: NodeParts,
  needsNext = false,
): NodeMiddleware<R> {
  const report = (error: unknown): void => warnOnce(guard.logger, 'WARN_SPILLWAY_NEXT', UNHANDLED, formatThrown(error))
  const failing = (request: R, response: NodeResponse, next: NodeNext) => (error: unknown) =>
    failRequest(error, request, response, next, report)
  const admit = (request: R, response: NodeResponse, passed: unknown): MaybePromise<boolean> => {
    const verdict = guard(request, response)
    return verdict instanceof Promise
      ? verdict.then((known) => follow(known, request, response, passed as NodeResponse, parts))
      : follow(verdict, request, response, passed as NodeResponse, parts)
  }
  const middleware = (request: R, passed: unknown, next: NodeNext = takesNone): unknown => {
    const isCalled = typeof next === 'function' && typeof request === 'object' && request !== null
    const response = isCalled ? responseTo(request, passed) : undefined
    if (response === undefined || (needsNext && next === takesNone))
      throw calledByHand('(req, res, next)', [request, passed, next])
    if (next === takesNone) return promised(admit, request, response, passed).catch(failing(request, response, next))
    let allowed: MaybePromise<boolean>
    try {
      allowed = admit(request, response, passed)
    } catch (error) {
      return void failing(request, response, next)(error)
    }
    // An error that `next` throws is not the limiter's: it must not call `next` again.
    if (allowed instanceof Promise) allowed.then((known) => known && next(), failing(request, response, next))
    else if (allowed === true) next()
    return undefined
  }
  return middleware as NodeMiddleware<R>
}

const takesNone: NodeNext = () => {}

const UNHANDLED = 'a limiter failed, and next did not handle its error, so that the request was answered with 500: '

/** Applies a verdict, and returns whether the request is allowed. */
function follow<S>(
  { decision, headers, denial, answer, after }: Verdict<S>,
  request: NodeRequest,
  response: NodeResponse,
  passed: Partial<NodeResponse>,
  { join, whenAnswered }: NodeParts,
): MaybePromise<boolean> {
  const isUpgrade = response !== passed
  // Only the own property is read: Express gives each request a prototype of its own, in which looking up a missing
  // name is slow.
  const limited = Object.hasOwn(request, 'rateLimit')
  if (decision) request.rateLimit = decision
  for (const [name, value] of join(headers, limited, headerOf, response)) {
    response.setHeader(name, value)
    if (isUpgrade) passed.setHeader?.(name, value)
  }
  if (after) whenAnswered?.(response, (status, ended) => void after(status, response as S, ended))
  if (denial === undefined) {
    if (isUpgrade) release(response)
    return true
  }
  return andThen(answer ? answer(response) : denial, (own) => {
    send(response, own)
    return false
  })
}

const headerOf = (name: string, response: NodeResponse): unknown => response.getHeader(name)

/** Sends the answer, unless `onDenied` has answered itself. */
function send(response: NodeResponse, denial: Denial | undefined): void {
  if (denial === undefined || isOver(response)) return
  const { status, contentType, headers, body } = denial
  setAnswerHeaders(response, headers)
  // Not with send() of Express, which would add a charset that the media type does not have.
  response.statusCode = status
  response.setHeader('Content-Type', contentType)
  response.end(body)
}

const FAILED: Denial = {
  status: 500,
  contentType: 'text/plain; charset=utf-8',
  headers: [],
  body: 'Internal Server Error',
}

/**
 * Passes an error on. If `next` takes none, it would allow the request; polka throws for most errors, which would end the
 * process. Then the error is reported, and the request answered. Returns false: the request is not allowed.
 */
export function failRequest(
  error: unknown,
  request: NodeRequest,
  response: NodeResponse,
  next: NodeNext,
  report: (error: unknown) => void,
): boolean {
  if (isOver(response)) return false
  try {
    if (next.length > 0 || typeof request.next === 'function') return passOn(error, next)
  } catch {
    if (isOver(response)) return false
  }
  report(error)
  send(response, FAILED)
  return false
}

function passOn(error: unknown, next: NodeNext): boolean {
  next(error)
  return false
}
