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
  sentHeader,
  TRUSTS_EVERY_PROXY,
  whenDisconnected,
} from '@spillway/core/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLate } from './reply.ts'

/** What every limiter reads of a request. */
export const plainReader: PlainReader<FastifyRequest> = {
  address: ({ ip }) => ip,
  peer: ({ socket }) => socket.remoteAddress,
  proxyWarning: (request) => fastifyTrustsEveryProxy(request) && TRUSTS_EVERY_PROXY,
  method: ({ method }) => method,
  header: ({ headers }, name) => nodeHeader(headers, name),
  hidesBody: ({ raw }) => hidesBody(raw),
  responseHeader: ({ raw }: FastifyReply, name) => sentHeader(raw, name),
  identity: ({ raw }) => raw,
  isOver: isLate,
}

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<FastifyRequest> = {
  path: fastifyPath,
  hasEmptyParameters: () => true,
  pathInMount: (request) =>
    request.server.prefix === '' ? undefined : pathBelow(request.server.prefix, fastifyPath(request)),
  query: ({ query }) => query as Query,
}

/** How a request that waits learns that its client has disconnected. */
export const listeningReader: Pick<RequestReader<FastifyRequest>, 'onClientClosed'> = {
  onClientClosed: ({ raw }, listener) => whenDisconnected(raw, listener),
}

export const reader: RequestReader<FastifyRequest> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  listeningReader,
)
