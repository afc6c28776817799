import { type IncomingMessage, request, Server } from 'node:http'
import { connect, type Http2Server, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { type AddressInfo, createConnection, type Socket } from 'node:net'
import type { NeutralRequest, NeutralResponse, Send } from './mount.ts'

/** The common part of HTTP/1.1 and HTTP/2 responses. */
interface Incoming extends AsyncIterable<Buffer> {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/**
 * Starts a Node server on a free port, and returns a function that sends requests to it: over HTTP/2 for a `node:http2`
 * server, else over HTTP/1.1. Each request uses a new connection. The server does not keep the process alive.
 *
 * Requests that expect a `100 Continue` are never answered: others are pipelined behind them.
 */
export async function sendTo(server: Server | Http2Server): Promise<Send> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  server.on('checkContinue', () => {})
  const { port } = server.address() as AddressInfo
  const send = server instanceof Server ? overHttp1(port) : overHttp2(port)
  return async (request = {}) => {
    const closed = request.signal && responseClosed(server, request)
    try {
      return await read(await send(request))
    } catch (error) {
      await closed
      throw error
    }
  }
}

/** Resolves when the response to the next request is closed, or its connection if it is behind another response. */
function responseClosed(server: Server | Http2Server, { pipelined }: NeutralRequest): Promise<void> {
  return new Promise((resolve) => {
    server.once('request', ({ socket }: IncomingMessage, response: NodeJS.EventEmitter) => {
      const closing = pipelined && server instanceof Server ? socket : response
      closing.on('close', () => resolve())
    })
  })
}

async function read(incoming: Incoming): Promise<NeutralResponse> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
  return { status: incoming.status, headers, body: Buffer.concat(chunks).toString() }
}

type Open = (request: NeutralRequest) => Promise<Incoming>

const overHttp1 =
  (port: number): Open =>
  ({ method = 'GET', path = '/', headers = {}, signal, pipelined }) =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, method, path, headers, ...(signal && { signal }) }
      const connection = pipelined ? { createConnection: () => busyConnection(port) } : { agent: false }
      const sent = request({ ...options, ...connection }, (response: IncomingMessage) => {
        resolve(Object.assign(response, { status: response.statusCode ?? 0 }))
      })
      sent.on('error', reject).end()
    })

/** A connection whose first request is not answered. */
function busyConnection(port: number): Socket {
  const socket = createConnection(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n')
  return socket
}

const overHttp2 =
  (port: number): Open =>
  ({ method = 'GET', path = '/', headers = {}, signal }) =>
    new Promise((resolve, reject) => {
      const session = connect(`http://127.0.0.1:${port}`)
      const { host, ...others } = headers
      // As browsers do, which send no Host over HTTP/2.
      const fields: OutgoingHttpHeaders = {
        ...others,
        ...(host && { ':authority': host }),
        ':method': method,
        ':path': path,
      }
      const stream = session.request(fields, { endStream: true, ...(signal && { signal }) })
      stream.on('close', () => session.close()).on('error', reject)
      stream.on('response', (headers) => {
        resolve(Object.assign(stream, { status: headers[':status'] ?? 0, headers }))
      })
    })
