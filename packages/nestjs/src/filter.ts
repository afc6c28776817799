import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common'
import { isOver, setAnswerHeaders } from '@spillway/core/http'
import { nodeResponse, type PlatformResponse } from './context.ts'
import { RateLimitException } from './exception.ts'

/** A client of a WebSocket: socket.io emits events, ws sends text. */
interface SocketClient {
  emit(event: string, data: unknown): unknown
  send(text: string): unknown
  readonly handshake?: unknown
}

/**
 * Answers denied requests with the problem document; in WebSockets, with an event `exception`. The module applies it to
 * HTTP. Apply it to gateways with `@UseFilters(RateLimitFilter)`. In GraphQL, the exception is an error of the field.
 */
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  /** Answers a denied call. */
  catch(exception: RateLimitException, host: ArgumentsHost): unknown {
    const type = host.getType<string>()
    if (type === 'http') return answer(host.switchToHttp().getResponse<PlatformResponse>(), exception)
    if (type !== 'ws') return exception
    const client = host.switchToWs().getClient<SocketClient>()
    const response = exception.getResponse()
    const document = typeof response === 'object' ? response : {}
    const data = { status: 'error', message: exception.message, ...document }
    if (client.handshake) return client.emit('exception', data)
    return client.send(JSON.stringify({ event: 'exception', data }))
  }
}

Catch(RateLimitException)(RateLimitFilter)

/** Sends the answer as it is: frameworks would add a charset that the media type does not have. */
function answer(response: PlatformResponse, { denial }: RateLimitException): void {
  const raw = nodeResponse(response)
  if (isOver(raw)) return
  const headers = [...denial.headers, ['Content-Type', denial.contentType] as const]
  if ('raw' in response) {
    for (const [name, value] of headers) response.header(name, value)
    const { body, status } = denial
    const reply = response as unknown as FastifyReply
    reply.code(status).serializer(asItIs).send(body)
    return
  }
  setAnswerHeaders(raw, headers)
  raw.statusCode = denial.status
  raw.end(denial.body)
}

interface FastifyReply {
  code(status: number): FastifyReply
  serializer(serialize: (body: string) => string): FastifyReply
  send(body: string): unknown
}

const asItIs = (body: string): string => body
