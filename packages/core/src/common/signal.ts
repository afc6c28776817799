import { invalidOption } from './errors.ts'
import { sharedListeners } from './shared-listeners.ts'

/** The part of an `AbortSignal` that is used. */
export interface Signal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

const onAbort = sharedListeners('abort listeners', (signal: Signal, listener) => {
  signal.addEventListener('abort', listener)
  return () => signal.removeEventListener('abort', listener)
})

/** Calls back when a signal aborts, at once if it has. Returns the function that stops listening. */
export function whenAborted(signal: Signal, listener: () => void): () => void {
  if (!signal.aborted) return onAbort(signal, listener)
  listener()
  return () => {}
}

/** Checks an `AbortSignal`. */
export function checkSignal(signal: unknown): Signal | undefined {
  if (signal === undefined) return undefined
  const { aborted, addEventListener, removeEventListener } = signal as Partial<Signal>
  const methods = [addEventListener, removeEventListener]
  if (typeof aborted === 'boolean' && methods.every((method) => typeof method === 'function')) return signal as Signal
  throw invalidOption('signal must be an AbortSignal, such as the signal of an AbortController', signal)
}
