import { type AdapterParts, type DecisionReader, type LimitOf, UPGRADED, withGuard } from '@spillway/core/http'
import type { PlainGuard } from '@spillway/core/http/lean'
import { calledByHand } from '@spillway/core/internal'
import { keepVerdict, recordOf } from './reader.ts'
import { denialResponse, withLimitHeaders } from './response.ts'
import { responseTo, type Settle, type settler } from './sent.ts'

/** A handler; `Rest` is what the runtime passes beside the request. */
export type Handler<R extends Request, Rest extends readonly unknown[], A> = (
  request: R,
  ...rest: Rest
) => A | Promise<A>

/** Wraps a handler in the limit of a lean entry. */
export interface LeanRateLimit extends DecisionReader<Request> {
  /** Wraps a handler. The result has the same parameters, including what the runtime passes beside the request. */
  <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
    handler: Handler<R, Rest, A>,
  ): (request: R, ...rest: Rest) => Promise<Response | A>
}

/** What only some features need of this adapter. */
export interface FetchParts extends AdapterParts<Request> {
  readonly settler?: typeof settler
}

/** Makes a function that wraps handlers of a guard. */
export const limitOf: LimitOf<Request, Response, FetchParts, LeanRateLimit> = (guard, parts) => {
  const limit = <R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
    handler: Handler<R, Rest, A>,
  ) => {
    if (typeof handler !== 'function') throw calledByHand('(handler)', [handler])
    return limited(handler, guard, parts)
  }
  return withGuard(limit, guard)
}

function limited<R extends Request, Rest extends readonly unknown[], A extends Response | undefined>(
  handler: Handler<R, Rest, A>,
  guard: PlainGuard<Request, Response>,
  parts: FetchParts,
) {
  return async (request: R, ...rest: Rest): Promise<Response | A> => {
    const record = recordOf(request, rest[0])
    const { context, limitHeaders } = record
    const verdict = await guard(request, request)
    const { denial, answer, after } = verdict
    keepVerdict(record, verdict, parts)
    if (denial) return denialResponse(request, (await answer?.(undefined)) ?? denial, limitHeaders, parts)
    const settle = parts.settler?.(request, context, rest, after) ?? asItIs
    // In this function: another would cost each request two promises.
    try {
      const response = await handler(request, ...rest)
      if (response) return settle(withLimitHeaders(response, request, limitHeaders, parts))
      // Bun's handlers return nothing after upgrading the connection.
      settle(new Response(null), UPGRADED)
      return response
    } catch (thrown) {
      settle(responseTo(thrown), undefined, true)
      throw thrown
    }
  }
}

const asItIs: Settle = (response) => response
