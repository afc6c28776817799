import { type IncomingMessage, request, Server } from 'node:http'
import { connect, type Http2Server, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { NeutralRequest, NeutralResponse, Send } from './mount.ts'

/** The common part of HTTP/1.1 and HTTP/2 responses. */
interface Incoming extends AsyncIterable<Buffer> {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/**
 * Starts a Node server on a free port, and returns a function that sends requests to it: over HTTP/2 for a `node:http2`
 * server, else over HTTP/1.1. Each request uses a new connection. The server does not keep the process alive.
 */
export async function sendTo(server: Server | Http2Server): Promise<Send> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const { port } = server.address() as AddressInfo
  const send = server instanceof Server ? overHttp1(port) : overHttp2(port)
  return async (request = {}) => {
    const closed = request.signal && responseClosed(server)
    try {
      return await read(await send(request))
    } catch (error) {
      await closed
      throw error
    }
  }
}

/** Resolves when the response to the next request is closed. */
function responseClosed(server: Server | Http2Server): Promise<void> {
  return new Promise((resolve) => {
    server.once('request', (_: unknown, response: NodeJS.EventEmitter) => response.on('close', resolve))
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
  ({ method = 'GET', path = '/', headers = {}, signal }) =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, method, path, headers, agent: false, ...(signal && { signal }) }
      const sent = request(options, (response: IncomingMessage) => {
        resolve(Object.assign(response, { status: response.statusCode ?? 0 }))
      })
      sent.on('error', reject).end()
    })

const overHttp2 =
  (port: number): Open =>
  ({ method = 'GET', path = '/', headers = {}, signal }) =>
    new Promise((resolve, reject) => {
      const session = connect(`http://127.0.0.1:${port}`)
      const fields: OutgoingHttpHeaders = { ...headers, ':method': method, ':path': path }
      const stream = session.request(fields, { endStream: true, ...(signal && { signal }) })
      stream.on('close', () => session.close()).on('error', reject)
      stream.on('response', (headers) => {
        resolve(Object.assign(stream, { status: headers[':status'] ?? 0, headers }))
      })
    })
