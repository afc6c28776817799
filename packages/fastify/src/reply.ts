import { type Denial, type Header, isOver } from '@spillway/core/http'
import type { FastifyReply } from 'fastify'

/** Whether the response has been sent, or the client has left. */
export const isLate = (reply: FastifyReply): boolean => reply.sent || isOver(reply.raw)

/** Sends the answer to a denied request, unless `onDenied` has answered itself. */
export function deny(reply: FastifyReply, denial: Denial | undefined): void {
  if (denial === undefined || isLate(reply)) return
  const { status, contentType, headers, body } = denial
  for (const [name, value] of headers) reply.header(name, value)
  // With a serializer, because Fastify would add a charset that the media type does not have.
  reply.code(status).type(contentType).serializer(asItIs).send(body)
}

/** Sets the headers of a verdict. Fastify makes all names lower case, which takes longer than to find a known name. */
export function setHeaders(reply: FastifyReply, headers: readonly Header[]): void {
  for (const [name, value] of headers) reply.header(inLowerCase(name), value)
}

/** The few names of a limiter's headers, in lower case. */
const lowerCaseNames = new Map<string, string>()

function inLowerCase(name: string): string {
  const known = lowerCaseNames.get(name)
  if (known !== undefined) return known
  const lowerCase = name.toLowerCase()
  lowerCaseNames.set(name, lowerCase)
  return lowerCase
}

const asItIs = (body: unknown): string => body as string
