import type { Signal } from '../../limiter/wait.ts'

/** The part of Node's responses, sockets and streams that is used. */
export interface Closable {
  readonly closed?: boolean
  /** The stream of an HTTP/2 response, which has no `closed` of its own. */
  readonly stream?: { readonly closed?: boolean }
  /** All that a response in Deno has: no `closed`. */
  readonly destroyed?: boolean
  on(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** The part of Node's requests (HTTP/1.1 and HTTP/2) that is used. */
export interface Incoming {
  /** The stream of an HTTP/2 request. */
  readonly stream?: { readonly endAfterHeaders?: boolean }
}

/** Whether a Node request has a body that no header announces: an HTTP/2 stream that does not end after its headers. */
export const hidesBody = (incoming: object): boolean => (incoming as Incoming).stream?.endAfterHeaders === false

/** The part of Node's responses (HTTP/1.1 and HTTP/2) that is used. */
export interface Outgoing extends Closable {
  readonly headersSent: boolean
}

const isClosed = ({ closed, stream, destroyed }: Closable): boolean => closed ?? stream?.closed ?? destroyed ?? false

/** Whether a response needs no answer any more: its headers are sent, or its client has disconnected. */
export const isOver = (response: Outgoing): boolean => response.headersSent || isClosed(response)

/** The status of a response that is over; undefined if its client disconnected before it was answered. */
export const statusOf = ({ headersSent }: Pick<Outgoing, 'headersSent'>, status: number): number | undefined =>
  headersSent ? status : undefined

/**
 * Calls back when a response has been sent or its client has disconnected: at once if that has happened, because no
 * event follows. Returns the function that stops listening.
 */
export function whenClosed(response: Closable, listener: () => void): () => void {
  if (isClosed(response)) {
    listener()
    return () => {}
  }
  response.on('close', listener)
  return () => void response.off('close', listener)
}

/**
 * Calls back when a fetch request is aborted by its client, at once if it has been. Returns the function that stops
 * listening.
 */
export function whenAborted(signal: Signal, listener: () => void): () => void {
  if (signal.aborted) {
    listener()
    return () => {}
  }
  signal.addEventListener('abort', listener)
  return () => signal.removeEventListener('abort', listener)
}
