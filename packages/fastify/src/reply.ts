import { type Denial, isOver } from '@spillway/core/http'
import type { FastifyReply } from 'fastify'

/** Whether the response has been sent, or the client has left. */
export const isLate = (reply: FastifyReply): boolean => reply.sent || isOver(reply.raw)

/** Sends the answer to a denied request, unless `onDenied` has answered itself. */
export function deny(reply: FastifyReply, denial: Denial | undefined): void {
  if (denial === undefined || isLate(reply)) return
  const { status, contentType, headers, body } = denial
  for (const [name, value] of headers) reply.header(name, value)
  // With a serializer, because Fastify would add a charset that the media type does not have.
  reply.code(status).header('Content-Type', contentType).serializer(asItIs).send(body)
}

const asItIs = (body: unknown): string => body as string
