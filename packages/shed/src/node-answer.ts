import { isOver, type NodeResponse } from '@spillway/core/http'
import type { Answer } from './answer.ts'

/** Answers a request by its response of Node, unless that is over. */
export function answerNode(response: NodeResponse, { status, headers, body }: Answer): void {
  if (isOver(response)) return
  response.statusCode = status
  for (const [name, value] of headers) response.setHeader(name, value)
  response.end(body)
}
