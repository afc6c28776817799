import {
  fastifyPath,
  fastifyTrustsEveryProxy,
  hidesBody,
  nodeHeader,
  type PlainReader,
  pathBelow,
  type Query,
  type RequestReader,
  type RouteReader,
  whenDisconnected,
} from '@spillway/core/http'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** What every limiter reads of a request. */
export const plainReader: PlainReader<FastifyRequest> = {
  address: ({ ip }) => ip,
  peer: ({ socket }) => socket.remoteAddress,
  trustsEveryProxy: fastifyTrustsEveryProxy,
  method: ({ method }) => method,
  header: ({ headers }, name) => nodeHeader(headers, name),
  hidesBody: ({ raw }) => hidesBody(raw),
  responseHeader: (reply: FastifyReply, name) => reply.getHeader(name),
  identity: ({ raw }) => raw,
  onClientClosed: ({ raw }, listener) => whenDisconnected(raw, listener),
}

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<FastifyRequest> = {
  path: fastifyPath,
  hasEmptyParameters: () => true,
  pathInMount: (request) =>
    request.server.prefix === '' ? undefined : pathBelow(request.server.prefix, fastifyPath(request)),
  query: ({ query }) => query as Query,
}

export const reader: RequestReader<FastifyRequest> = /* @__PURE__ */ Object.assign({}, plainReader, routeReader)
