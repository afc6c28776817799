import { processState } from '../../common/process-state.ts'
import { sharedListeners } from '../../common/shared-listeners.ts'
import { type Closable, type Connection, connectionOf, isClosed } from './closed.ts'

/** The connection of an HTTP/1.1 response. The socket of an HTTP/2 request is a proxy, and its stream closes by itself. */
const socketOf = ({ closed, stream, req }: Closable): Connection | undefined =>
  closed === undefined && stream !== undefined ? undefined : connectionOf(req?.socket)

const CLOSES = ['close'] as const
/** The responses of some servers for functions have no connection, and do not close. */
const FINISHES = ['close', 'finish'] as const

/**
 * Calls back once when a response has been sent or its client has disconnected: at once if that has happened, because no
 * event follows. Returns the function that stops listening.
 */
export function whenClosed(response: Closable, listener: () => void): () => void {
  if (isClosed(response)) {
    listener()
    return () => {}
  }
  const over = (): void => {
    stop()
    listener()
  }
  const leave = onSocketClosed(socketOf(response), over)
  const unregister = onResponseClosed(response, over)
  const stop = (): void => {
    unregister()
    leave()
  }
  return stop
}

/** Listens to a response, with one listener for all limiters that it passes. */
const onResponseClosed = /* @__PURE__ */ sharedListeners('response listeners', (response: Closable, listener) => {
  const { req, stream } = response
  const events = socketOf(response) === undefined && req !== undefined && stream === undefined ? FINISHES : CLOSES
  for (const event of events) response.on(event, listener)
  return () => {
    for (const event of events) response.off(event, listener)
  }
})

/**
 * Calls back when the client of a Node request disconnects, at once if it has. Returns the function that stops listening.
 * The request itself closes as soon as its body has been read.
 */
export function whenDisconnected(
  { stream, socket }: { readonly stream?: Closable; readonly socket: unknown },
  listener: () => void,
): () => void {
  if (stream) return whenClosed(stream, listener)
  const connection = connectionOf(socket)
  if (!connection?.destroyed) return onSocketClosed(connection, listener)
  listener()
  return () => {}
}

/** What is called when a connection closes, for all requests on it. */
const socketListeners = (): WeakMap<object, Set<() => void>> => processState('socket listeners', () => new WeakMap())

/** Listens to a connection, with one listener for all of its requests: Node warns if there are more than ten. */
function onSocketClosed(socket: Connection | undefined, listener: () => void): () => void {
  if (socket === undefined) return () => {}
  const listeners = socketListeners().get(socket) ?? listenTo(socket)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function listenTo(socket: Connection): Set<() => void> {
  const listeners = new Set<() => void>()
  socketListeners().set(socket, listeners)
  socket.on('close', () => {
    for (const listener of listeners) listener()
  })
  return listeners
}
