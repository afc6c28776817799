/** What is used of Node's responses, sockets and streams. */
export interface Closable {
  readonly closed?: boolean
  /** The stream of an HTTP/2 response, which has no `closed` of its own. */
  readonly stream?: { readonly closed?: boolean }
  on(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** What is used of Node's requests, of HTTP/1.1 and HTTP/2. */
export interface Incoming {
  /** The stream of an HTTP/2 request. */
  readonly stream?: { readonly endAfterHeaders?: boolean }
}

/** Whether a request to Node has a body that no header announces: an HTTP/2 stream that goes on after its headers. */
export const hidesBody = (incoming: object): boolean => (incoming as Incoming).stream?.endAfterHeaders === false

/** What is used of Node's responses, of HTTP/1.1 and HTTP/2. */
export interface Outgoing extends Closable {
  readonly headersSent: boolean
}

const isClosed = ({ closed, stream }: Closable): boolean => closed ?? stream?.closed ?? false

/** Whether a response is over: its headers are sent, or its client is gone. */
export const isOver = (response: Outgoing): boolean => response.headersSent || isClosed(response)

/**
 * Calls back when a response has gone out, or its client has gone away: at once if that has been, since nobody tells it
 * again. Returns how to stop listening.
 */
export function whenClosed(response: Closable, listener: () => void): () => void {
  if (isClosed(response)) {
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
