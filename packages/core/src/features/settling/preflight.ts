import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { RequestReader } from '../../http/requests/reader.ts'

/** Whether a request is a CORS preflight: browsers send it without a body. */
export function isPreflight<R>(reader: RequestReader<R>, request: R): boolean {
  if (reader.method(request) !== 'OPTIONS') return false
  const has = (name: string): boolean => Boolean(reader.header(request, name))
  return (
    has('origin') &&
    has('access-control-request-method') &&
    !has('transfer-encoding') &&
    (reader.header(request, 'content-length') ?? (reader.hidesBody?.(request) ? 'hidden' : '0')) === '0'
  )
}

/** Reports, for a response, whether its request's units are refunded. */
export type Refunds = (status: number, response: unknown) => MaybePromise<boolean>

/**
 * Also refunds a preflight that was answered as one: by no handler of the method, or with the permission that browsers ask for.
 * Any other response was made by a handler for all methods, which a client could call for nothing.
 */
export const refundsPreflights =
  <R>({ responseHeader }: RequestReader<R>, refundIf: Refunds | undefined): Refunds =>
  (status, response) =>
    status === 404 ||
    status === 405 ||
    Boolean(responseHeader?.(response as never, 'access-control-allow-methods')) ||
    (refundIf?.(status, response) ?? false)
