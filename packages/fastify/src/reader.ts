import {
  fastifyPath,
  fastifyTrustsEveryProxy,
  hidesBody,
  nodeHeader,
  pathBelow,
  queryValues,
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
  pathInMount: (request) => pathBelow(request.server.prefix, fastifyPath(request)),
  header: ({ headers }, name) => nodeHeader(headers, name),
  query: ({ query }, name) => queryValues((query as Record<string, unknown>)[name]),
  hidesBody: ({ raw }) => hidesBody(raw),
  responseHeader: (reply: FastifyReply, name) => reply.getHeader(name),
  identity: ({ raw }) => raw,
  onClientClosed: ({ raw }, listener) => whenDisconnected(raw, listener),
}
