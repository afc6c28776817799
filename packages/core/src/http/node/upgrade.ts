import { hasMethod } from '../../common/by-hand.ts'
import type { NodeRequest, NodeResponse } from './types.ts'

/** The connection of an upgrade. */
interface Connection {
  on(event: 'error', listener: () => void): unknown
  destroySoon(): void
}

/** A response of `node:http`, which can be assigned to a connection. */
interface AssignableResponse extends NodeResponse {
  readonly socket: unknown
  shouldKeepAlive: boolean
  assignSocket(socket: never): void
  detachSocket(socket: never): void
  once(event: 'finish', listener: () => void): unknown
}

interface Http {
  readonly ServerResponse: new (request: NodeRequest) => AssignableResponse
}

// Not imported: it would be loaded at the start, and edge runtimes do not have it.
declare const process: { getBuiltinModule(name: 'node:http'): Http }

/**
 * The response to a request: what is passed; for an upgrade, for which Node makes none, one on its connection. Undefined if
 * neither is passed.
 */
export function responseTo(request: NodeRequest, passed: unknown): NodeResponse | undefined {
  const isResponse = typeof (passed as Partial<NodeResponse> | null | undefined)?.headersSent === 'boolean'
  const connection = isResponse ? undefined : connectionOf(passed)
  if (connection === undefined) {
    const response = passed as NodeResponse | null | undefined
    return typeof response?.setHeader === 'function' ? response : undefined
  }
  const response = responses.get(connection) ?? responseOn(connection, request)
  response.assignSocket(connection as never)
  return response
}

/** The response of each upgrade, which all limiters that it passes share. */
const responses = new WeakMap<Connection, AssignableResponse>()

function responseOn(connection: Connection, request: NodeRequest): AssignableResponse {
  const { ServerResponse } = process.getBuiltinModule('node:http')
  const response = new ServerResponse(request)
  responses.set(connection, response)
  response.shouldKeepAlive = false
  response.once('finish', () => connection.destroySoon())
  // Node has removed its own listener: the error of a client that disconnects would end the process.
  connection.on('error', ignore)
  return response
}

/** The connection of an upgrade: passed by itself, or by engine.io in an object that resembles a response, and sends nothing. */
function connectionOf(passed: unknown): Connection | undefined {
  const connection = hasMethod(passed, 'destroySoon') ? passed : (passed as { socket?: unknown } | undefined)?.socket
  return hasMethod(connection, 'destroySoon') ? (connection as Connection) : undefined
}

/** Leaves the connection of an upgrade to what handles it. */
export function release(response: NodeResponse): void {
  const { socket } = response as AssignableResponse
  if (socket) (response as AssignableResponse).detachSocket(socket as never)
}

const ignore = (): void => {}
