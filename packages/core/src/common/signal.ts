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
