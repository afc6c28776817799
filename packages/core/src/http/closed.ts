/** What is used of Node's responses, sockets and streams. */
export interface Closable {
  readonly closed?: boolean
  on(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/**
 * Calls back when a response has gone out, or its client has gone away: at once if that has been, since nobody tells it
 * again. Returns how to stop listening.
 */
export function whenClosed(response: Closable, listener: () => void): () => void {
  if (response.closed) {
    listener()
    return () => {}
  }
  response.on('close', listener)
  return () => void response.off('close', listener)
}

/** What is used of an `AbortSignal`. */
interface Abortable {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Calls back when a fetch request is given up by its client, at once if it has been. Returns how to stop listening. */
export function whenAborted(signal: Abortable, listener: () => void): () => void {
  if (signal.aborted) {
    listener()
    return () => {}
  }
  signal.addEventListener('abort', listener)
  return () => signal.removeEventListener('abort', listener)
}
