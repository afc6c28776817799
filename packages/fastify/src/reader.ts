import {
  fastifyPath,
  fastifyTrustsEveryProxy,
  hidesBody,
  nodeHeader,
  pathBelow,
  type Query,
  type RequestReader,
  whenDisconnected,
} from '@spillway/core/http'
import type { FastifyReply, FastifyRequest } from 'fastify'

export const reader: RequestReader<FastifyRequest> = {
  address: ({ ip }) => ip,
  peer: ({ socket }) => socket.remoteAddress,
  trustsEveryProxy: fastifyTrustsEveryProxy,
  method: ({ method }) => method,
  path: fastifyPath,
  hasEmptyParameters: () => true,
  pathInMount: (request) =>
    request.server.prefix === '' ? undefined : pathBelow(request.server.prefix, fastifyPath(request)),
  header: ({ headers }, name) => nodeHeader(headers, name),
  query: ({ query }) => query as Query,
  hidesBody: ({ raw }) => hidesBody(raw),
  responseHeader: (reply: FastifyReply, name) => reply.getHeader(name),
  identity: ({ raw }) => raw,
  onClientClosed: ({ raw }, listener) => whenDisconnected(raw, listener),
}
