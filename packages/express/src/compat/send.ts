import type { Response } from 'express'

/** Sends a body as Express does, also with a response of Node, which has no `send`. */
export function sendBody(response: Response, body: unknown): void {
  if (typeof response.send === 'function') {
    response.send(body)
    return
  }
  const isText = typeof body === 'string' || body === undefined
  const isBinary = ArrayBuffer.isView(body)
  const type = isText ? 'text/html; charset=utf-8' : isBinary ? 'application/octet-stream' : 'application/json'
  if (!response.hasHeader('Content-Type')) response.setHeader('Content-Type', type)
  response.end(isText || isBinary ? body : JSON.stringify(body))
}
