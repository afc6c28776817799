import type { RequestReader } from './reader.ts'

/** What reports that it closes; a response, that it has been sent, too. */
interface Closing {
  on(event: 'close' | 'finish', listener: () => void): unknown
  off(event: 'close' | 'finish', listener: () => void): unknown
}

/** The part of a connection that is used. */
export interface Connection extends Closing {
  readonly destroyed?: boolean
}

/** The part of Node's responses and HTTP/2 streams that is used. */
export interface Closable extends Closing {
  readonly closed?: boolean
  /** The stream of an HTTP/2 response, which has no `closed` of its own. */
  readonly stream?: { readonly closed?: boolean }
  /** All that a response in Deno has: no `closed`. */
  readonly destroyed?: boolean
  /** The request of a response. It has the connection even while the response waits for its turn on it. */
  readonly req?: Incoming
}

/** The part of Node's requests (HTTP/1.1 and HTTP/2) that is used. */
export interface Incoming {
  readonly socket?: unknown
  /** Whether the request has left HTTP: its connection is that of another protocol, or is about to be. */
  readonly upgrade?: boolean
  readonly headers?: Readonly<Record<string, unknown>>
  /** The stream of an HTTP/2 request. */
  readonly stream?: { readonly endAfterHeaders?: boolean }
}

/** Whether a Node request has a body that no header announces: an HTTP/2 stream that does not end after its headers. */
export const hidesBody = (incoming: object): boolean => (incoming as Incoming).stream?.endAfterHeaders === false

/** The part of Node's responses (HTTP/1.1 and HTTP/2) that is used. */
export interface Outgoing extends Closable {
  readonly headersSent: boolean
  readonly statusCode: number
  readonly stream?: Closable['stream'] & { readonly sentHeaders?: { readonly ':status'?: number } }
}

/** A connection that reports when it closes: the requests of some servers for functions have another object. */
export function connectionOf(socket: unknown): Connection | undefined {
  const connection = socket as Connection | null | undefined
  return typeof connection?.on === 'function' ? connection : undefined
}

/** Of several responses on one connection, Node closes only the one whose turn it is: so the connection counts, too. */
export function isClosed(response: Closable): boolean {
  const { closed, stream, destroyed, req } = response
  if (closed ?? stream?.closed ?? destroyed) return true
  return (closed !== undefined || stream === undefined) && connectionOf(req?.socket)?.destroyed === true
}

/**
 * `onClientClosed` of lean limiters, in which nothing waits by itself: instead of listening, it asks whether the client has
 * disconnected, at once and when the caller stops.
 */
export const askingIf =
  <R>(isClosed: (request: R) => boolean): RequestReader<R>['onClientClosed'] =>
  (request, listener) => {
    const ask = (): void => {
      if (isClosed(request)) listener()
    }
    ask()
    return ask
  }

/** Whether a response needs no answer any more: its headers are sent, or its client has disconnected. */
export const isOver = (response: Omit<Outgoing, 'statusCode'>): boolean => response.headersSent || isClosed(response)

/** The status of a response that is over; undefined if its client disconnected before it was answered. */
export const statusOf = ({ headersSent }: Pick<Outgoing, 'headersSent'>, status: number): number | undefined =>
  headersSent ? status : undefined

/** Whether the client of a Node request has disconnected. */
export const isDisconnected = ({
  stream,
  socket,
}: {
  readonly stream?: Closable
  readonly socket: unknown
}): boolean => (stream ? isClosed(stream) : connectionOf(socket)?.destroyed === true)
