import type { Signal } from '@spillway/core'
import type { Dispatcher } from 'undici'
import type { PacerOptions } from './options.ts'
import type { CallDescription } from './outgoing.ts'
import { type Pacer, pacer } from './pacer.ts'

/**
 * Returns an interceptor for undici, which paces calls and learns from their answers: `new Agent().compose(pacing(options))`. It does
 * not retry: for that, compose undici's own before it. Throws a `QuotaError` if an option is invalid.
 */
export function pacing(options: PacerOptions): Dispatcher.DispatcherComposeInterceptor {
  const own = pacer(options)
  return (dispatch) => (request, handler) => {
    const call = callOf(request)
    own.pace(call, signalOf(request)).then(
      () => dispatch(request, learning(own, call, handler)),
      // There is no connection yet, whose controller it could be.
      (error) => handler.onResponseError?.(null as never, error),
    )
    return true
  }
}

function callOf({ origin = '', path, method, headers }: Dispatcher.DispatchOptions): CallDescription {
  const url = new URL(path, String(origin))
  if (!headers) return { url, method }
  return { url, method, headers: Array.isArray(headers) ? pairsOf(headers) : (headers as Record<string, string>) }
}

/** Undici takes a list of names and values, too. */
const pairsOf = (list: readonly string[]): [string, string][] =>
  list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] ?? ''] as [string, string]] : []))

/** An event emitter, which undici takes as well, is for undici. */
function signalOf(request: object): { readonly signal?: Signal } {
  const { signal } = request as { readonly signal?: unknown }
  return signal && typeof signal === 'object' && 'addEventListener' in signal ? { signal: signal as Signal } : {}
}

/** The handler of a request, which hands over its answer. */
function learning(own: Pacer, call: CallDescription, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...args) => handler.onRequestStart?.(...args),
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (controller, status, headers, message) => {
      if (status >= 200) void own.learn(call, { status, headers }).catch(() => {})
      return handler.onResponseStart?.(controller, status, headers, message)
    },
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (controller, error) => {
      // A caller that leaves says nothing about the service.
      if (!controller?.aborted) void own.fail(call).catch(() => {})
      return handler.onResponseError?.(controller, error)
    },
  }
}
