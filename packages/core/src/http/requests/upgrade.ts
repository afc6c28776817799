import { processState } from '../../common/process-state.ts'
import { type Incoming, type Outgoing, statusOf } from './closed.ts'
import { whenClosed } from './closing.ts'

/** The part of a connection that is used: what an upgrade writes on it, and whether its protocol reads it already. */
interface Connection {
  write(chunk: unknown, ...rest: unknown[]): unknown
  end(chunk?: unknown, ...rest: unknown[]): unknown
  listenerCount?(event: 'data'): number
  /** The response whose turn it is. */
  readonly _httpMessage?: unknown
}

/**
 * Called when a request has been answered: without a status, if its client disconnected before that. The response to an
 * upgrade is over with its status 101, and its connection is when the promise `ended` resolves.
 */
export type Answered = (status: number | undefined, ended?: Promise<void>) => void

/** The status of an upgrade, whose connection goes on in another protocol. */
export const UPGRADED = 101

/**
 * Calls back when a response has been sent or its client has disconnected. A server of WebSockets writes the response to an
 * upgrade on the connection itself: it is read there.
 */
export function whenAnswered(response: Outgoing, answered: Answered): void {
  let written: number | undefined
  // A handler may send a response of HTTP/2 by its stream: Node's response knows only what is set on itself.
  const sent = (): number => response.stream?.sentHeaders?.[':status'] ?? response.statusCode
  let end = (): void => answered(statusOf(response, sent()) ?? written)
  const stop = onWritten(response, (status) => {
    written = status
    if (status === UPGRADED) answered(UPGRADED, new Promise((resolve) => (end = resolve)))
  })
  whenClosed(response, () => {
    stop()
    end()
  })
}

/** The response of a Node request that asks for an upgrade and has none: servers of fetch handlers pass its connection only. */
export function upgradeOf(incoming: Incoming | undefined): Outgoing | undefined {
  if (incoming?.upgrade !== true || connectionOf(incoming) === undefined) return undefined
  return { headersSent: false, statusCode: UPGRADED, req: incoming, on: () => {}, off: () => {} }
}

function connectionOf({ socket }: Incoming): Connection | undefined {
  const connection = socket as Connection | null | undefined
  return typeof connection?.write === 'function' ? connection : undefined
}

/** Calls back once with the status of a response that is written on its connection by itself. Returns how to stop. */
function onWritten(response: Outgoing, written: (status: number) => void): () => void {
  const { req, stream } = response
  const asks = req?.upgrade === true || req?.headers?.['upgrade'] !== undefined
  const connection = asks && stream === undefined ? connectionOf(req) : undefined
  if (connection === undefined) return () => {}
  const watchers = watchersOf(connection)
  const stop = (): void => void watchers.delete(watch)
  const watch = (chunk: unknown): void => {
    // Of another response on the connection, or of the body of this one: a client may have written that.
    if ((connection._httpMessage ?? response) !== response) return
    const status = statusIn(chunk)
    if (response.headersSent && response.statusCode !== status) return
    if (status !== UPGRADED && !(status >= 200)) return
    stop()
    written(status)
  }
  // Some servers upgrade first, and then call the app: the other protocol reads the connection already.
  if (req?.upgrade && connection.listenerCount?.('data')) written(UPGRADED)
  else watchers.add(watch)
  return stop
}

type Watchers = Set<(chunk: unknown) => void>

const watched = (): WeakMap<object, Watchers> => processState('written connections', () => new WeakMap())

/** What is called with each chunk that is written on a connection. */
function watchersOf(connection: Connection): Watchers {
  const known = watched().get(connection)
  if (known !== undefined) return known
  const watchers: Watchers = new Set()
  watched().set(connection, watchers)
  for (const method of ['write', 'end'] as const) {
    const own = connection[method]
    connection[method] = function (this: Connection, ...args: [unknown]) {
      for (const watch of watchers) watch(args[0])
      return own.apply(this, args)
    }
  }
  return watchers
}

/** The status of a chunk that begins a response of HTTP/1; NaN if it does not. */
function statusIn(chunk: unknown): number {
  const start = chunk instanceof Uint8Array ? String.fromCharCode(...chunk.subarray(0, 12)) : String(chunk).slice(0, 12)
  return Number(/^HTTP\/1\.\d (\d{3})$/.exec(start)?.[1])
}

/** What crossws, the WebSockets of h3, adds to the response that it upgrades instead of sending it. */
export const isUpgrade = (response: object): boolean =>
  'crossws' in response || Reflect.get(response, 'status') === UPGRADED
