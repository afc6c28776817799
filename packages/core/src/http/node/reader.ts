import { hidesBody, isClosed, isDisconnected, isOver } from '../requests/closed.ts'
import { whenClosed, whenDisconnected } from '../requests/closing.ts'
import { nodeHeader, sentHeader } from '../requests/headers.ts'
import type { Query } from '../requests/query.ts'
import type { PlainReader, RequestReader, RouteReader } from '../requests/reader.ts'
import { targetOf } from '../requests/targets.ts'
import type { NodeRequest } from './types.ts'

// Every runtime defines it, but no ECMAScript library declares it.
declare const URL: {
  new (url: string, base: string): { readonly pathname: string }
  canParse(url: string, base: string): boolean
}

const BASE = 'http://localhost'

/**
 * The readings of a target's path: as a URL parser has it, without the host behind two slashes, as it is written, and up to a
 * fragment or a semicolon. Who routes by hand reads any of them: `new URL('//a/login', 'http://localhost').pathname` is `/login`.
 */
function readingsOf(target: string): readonly string[] {
  const { path, start, plain, beforeQuery } = targetOf(target)
  const isUsual = start > 0 || path.startsWith('/')
  const parsed = isUsual || !URL.canParse(path, BASE) ? path : new URL(path, BASE).pathname
  return [parsed.replace(/[/\\]{2,}[^/\\]*/y, '') || '/', beforeQuery, plain]
}

/**
 * The path as routers read it. `router` and Express report the prefix of a mount. Others keep the requested target only: then
 * the path is both that and what mounts and rewriting have left of it, unless that is nothing.
 */
function pathOf(request: NodeRequest): readonly string[] {
  const { baseUrl, url = '/' } = request
  const left = readingsOf(url)
  if (baseUrl) return left.map((path) => baseUrl + path)
  const requested = baseUrl === undefined ? requestedPathOf(request) : undefined
  if (requested === undefined) return left
  if (left[0] === '/') return requested
  return isRest(left, requested) ? [...requested, ...left] : [...left, ...requested]
}

/** Without what mounts have left of the requested path. */
function wholePathOf(request: NodeRequest): readonly string[] {
  const { baseUrl, url = '/' } = request
  const requested = baseUrl === undefined ? requestedPathOf(request) : undefined
  return requested && isRest(readingsOf(url), requested) ? requested : pathOf(request)
}

/** The requested path; undefined if it is that of the request. */
const requestedPathOf = ({ originalUrl, url }: NodeRequest): readonly string[] | undefined =>
  typeof originalUrl === 'string' && originalUrl !== url ? readingsOf(originalUrl) : undefined

/** Whether a mount may have left this of the requested path. */
const isRest = ([left = '']: readonly string[], [requested = '']: readonly string[]): boolean =>
  requested.endsWith(left) || left === '/'

/** What a URL parser reads, and what the parser of the framework has read. */
const queryOf = ({ url = '', query }: NodeRequest): Query =>
  query === undefined ? targetOf(url).query : [targetOf(url).query, query]

/** What every limiter reads of requests of `node:http` and `node:http2`. */
export const nodePlainReader: PlainReader<NodeRequest> = {
  // Fastify's address by its own setting, which @fastify/middie adds to the request.
  address: ({ ip, socket }) => ip ?? socket?.remoteAddress,
  peer: ({ socket }) => socket?.remoteAddress,
  method: ({ method = 'GET' }) => method.toUpperCase(),
  header: ({ headers }, name) => nodeHeader(headers, name),
  hidesBody,
  responseHeader: sentHeader,
  isOver,
}

/** Whether the client of such a request has disconnected. */
export const isNodeClosed = (request: NodeRequest): boolean =>
  request.res ? isClosed(request.res) : isDisconnected(request)

/** What selectors and matches read of such requests. */
export const nodeRouteReader: RouteReader<NodeRequest> = {
  path: pathOf,
  wholePath: wholePathOf,
  pathInMount: ({ baseUrl, url = '/' }) => (baseUrl ? readingsOf(url)[0] : undefined),
  // Fastify's router does, below @fastify/middie.
  hasEmptyParameters: () => true,
  query: queryOf,
}

/** How a request that waits learns that its client has disconnected. */
export const nodeListeningReader: Pick<RequestReader<NodeRequest>, 'onClientClosed'> = {
  onClientClosed: (request, listener) =>
    request.res ? whenClosed(request.res, listener) : whenDisconnected(request, listener),
}

/** Reads requests of `node:http` and `node:http2`. */
export const nodeReader: RequestReader<NodeRequest> = /* @__PURE__ */ Object.assign(
  {},
  nodePlainReader,
  nodeRouteReader,
  nodeListeningReader,
)
