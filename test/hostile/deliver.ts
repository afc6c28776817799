import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** A connection without a peer. */
class Line extends Duplex {
  readonly remoteAddress: string

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done()
  }
}

interface Parsed {
  _addHeaderLines(raw: readonly string[], length: number): void
}

export interface Delivery {
  readonly method: string
  readonly target: string
  readonly lines: readonly (readonly [name: string, value: string])[]
  readonly from: string
}

/** The response, with header names in lower case. */
export interface Outcome {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
}

/** The headers that `writeHead` gets: by name, or as a flat list of names and values. */
const headersOf = (headers: unknown = {}): readonly (readonly [string, unknown])[] =>
  Array.isArray(headers)
    ? headers.flatMap((name, i) => (i % 2 === 0 ? [[String(name), headers[i + 1]] as const] : []))
    : Object.entries(headers as object)

/** Passes a request to an app as Node messages without a network, and waits for the whole response. */
export function deliver(app: RequestListener, { method, target, lines, from }: Delivery): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const socket = new Line(from) as unknown as Socket
    const request = new IncomingMessage(socket)
    Object.assign(request, { method, url: target, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 })
    // Joins headers by the rules of Node's parser.
    const raw = ['Host', 'localhost', ...lines.flat()]
    ;(request as unknown as Parsed)._addHeaderLines(raw, raw.length)
    request.push(null)
    request.complete = true
    const response = new ServerResponse(request)
    const reported = new Map<string, string>()
    const { writeHead } = response
    // `writeHead` does not add its headers to `getHeaders`.
    response.writeHead = (status: number, ...rest: unknown[]) => {
      for (const [name, value] of headersOf(rest.at(-1))) reported.set(name.toLowerCase(), `${value}`)
      return writeHead.call(response, status, ...(rest as [never]))
    }
    response.assignSocket(socket)
    response.on('error', reject)
    response.on('finish', () => {
      for (const [name, value] of Object.entries(response.getHeaders())) reported.set(name, `${value}`)
      resolve({ status: response.statusCode, headers: reported })
      response.detachSocket(socket)
      response.emit('close')
    })
    app(request, response)
  })
}
