import type { ExecutionContext } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { Logger } from '@spillway/core'
import {
  type ExpressLike,
  expressQuery,
  type FastifyLike,
  fastifyPath,
  fastifyTrustsEveryProxy,
  firstReading,
  hidesBody,
  isOver,
  NODE_PARAMETERS,
  nodeHeader,
  type Outgoing,
  type RequestReader,
  sentHeader,
  TRUSTS_EVERY_PROXY,
  type TrustProxy,
  whenClosed,
} from '@spillway/core/http'
import { warnOnce } from '@spillway/core/internal'

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** The part of a request that is read: of Express, of Fastify, or of the handshake of a WebSocket. */
interface Incoming extends ExpressLike, FastifyLike {
  readonly raw?: object
  readonly ip?: string
  readonly method?: string
  readonly baseUrl?: string
  readonly path?: string
  readonly headers?: Headers | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly socket?: { readonly remoteAddress?: string }
  readonly app?: { get?(setting: string): unknown }
}

/** The part of Node's response that is used. */
export interface NodeResponse extends Outgoing {
  statusCode: number
  getHeader(name: string): unknown
  setHeader(name: string, value: string): unknown
  appendHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/** A reply of Fastify, which sets its headers on Node's response when it sends. */
interface Reply {
  readonly raw: NodeResponse
  readonly statusCode: number
  getHeader(name: string): unknown
  header(name: string, value: string): unknown
}

/** The response of a platform: Express' is Node's own, Fastify's has it. */
export type PlatformResponse = NodeResponse | Reply

/** A client of socket.io, or of ws, as far as its connection is read. */
interface SocketClient {
  readonly handshake?: Pick<Incoming, 'headers' | 'query' | 'url'> & { readonly address: string }
  readonly _socket?: { readonly remoteAddress?: string }
}

/** The context that GraphQL servers pass to resolvers. */
interface GraphContext {
  /** Of a subscription by graphql-ws, its connection, which has the request that opened it. */
  readonly req?: Incoming & { readonly extra?: { readonly request?: Incoming } }
  readonly request?: Incoming
  readonly reply?: Reply & { readonly request?: Incoming }
  readonly res?: NodeResponse
}

const isGraphql = (context: ExecutionContext): boolean => context.getType<string>() === 'graphql'
const isHttp = (context: ExecutionContext): boolean => context.getType() === 'http'

/**
 * Whether a GraphQL call has arguments. Resolvers of references and of types have none: their context and info come one
 * earlier.
 */
export const hasArguments = (context: ExecutionContext): boolean =>
  context.getArgByIndex<{ readonly fieldNodes?: unknown } | null | undefined>(2)?.fieldNodes === undefined

/** The context that a GraphQL server has passed to a resolver. */
const graphOf = (context: ExecutionContext): GraphContext =>
  context.getArgByIndex<GraphContext | undefined>(hasArguments(context) ? 2 : 1) ?? {}

/** The response of an HTTP or GraphQL call; undefined if there is none, as in WebSockets. */
export function responseOf(context: ExecutionContext): PlatformResponse | undefined {
  if (isHttp(context)) return context.switchToHttp().getResponse<PlatformResponse>()
  if (!isGraphql(context)) return undefined
  const { reply, res } = graphOf(context)
  const response = reply ?? res ?? requestOf(context)['res' as never]
  return typeof (response as PlatformResponse | undefined)?.getHeader === 'function' ? response : undefined
}

/** Node's own response. */
export const nodeResponse = (response: PlatformResponse): NodeResponse => ('raw' in response ? response.raw : response)

/** Sets a header of a response, before it is sent. */
export function setHeader(response: PlatformResponse, name: string, value: string): void {
  if ('raw' in response) response.header(name, value)
  else response.setHeader(name, value)
}

function requestOf(context: ExecutionContext): Incoming {
  if (isHttp(context)) return context.switchToHttp().getRequest<Incoming>()
  if (isGraphql(context)) {
    const { req, request, reply } = graphOf(context)
    return req?.extra?.request ?? req ?? request ?? reply?.request ?? {}
  }
  if (context.getType() !== 'ws') return {}
  const { handshake, _socket: socket } = context.switchToWs().getClient<SocketClient>()
  return { ...handshake, socket: socket ?? { ...(handshake && { remoteAddress: handshake.address }) } }
}

const peer = (context: ExecutionContext): string | undefined => requestOf(context).socket?.remoteAddress

const header = (context: ExecutionContext, name: string): string | undefined =>
  nodeHeader(requestOf(context).headers, name)

/** Reads the path as the router does: a target may also be a whole URL, or end in a fragment. */
function pathOf(context: ExecutionContext): string | readonly string[] {
  const request = requestOf(context)
  const { baseUrl, path } = request
  return baseUrl === undefined || path === undefined ? fastifyPath(request) : baseUrl + path
}

const reflector = new Reflector()

/** The path of a controller and its method, as their decorators have it: without the global prefix and the version. */
function ownPath(context: ExecutionContext): string {
  const paths = [context.getClass(), context.getHandler()].map((each) => reflector.get<unknown>('path', each))
  return paths.flatMap((path) => (Array.isArray(path) ? path[0] : path) ?? '').join('/')
}

const segmentsOf = (path: string): readonly string[] => path.split('/').filter((segment) => segment !== '')

/** The path without the prefix that Nest adds to that of the controller; a wildcard takes any number of segments. */
function pathInMount(context: ExecutionContext): string | undefined {
  const [own, path] = [ownPath(context), pathOf(context)]
  if (!isHttp(context) || own.includes('*')) return undefined
  const whole = segmentsOf(firstReading(path))
  const prefix = whole.length - segmentsOf(own).length
  return prefix > 0 ? `/${whole.slice(prefix).join('/')}` : undefined
}

function trustsEveryProxy(context: ExecutionContext): boolean {
  const request = requestOf(context)
  // An address reserved for documentation, more hops away than any proxy.
  const trusts = request.app?.get?.('trust proxy fn') as ((address: string, hops: number) => boolean) | undefined
  return trusts?.('192.0.2.1', 64) ?? fastifyTrustsEveryProxy(request)
}

export const reader: RequestReader<ExecutionContext> = {
  address: (context) => requestOf(context).ip ?? peer(context),
  peer,
  proxyWarning: (context) => trustsEveryProxy(context) && TRUSTS_EVERY_PROXY,
  method: (context) => requestOf(context).method ?? 'GET',
  path: pathOf,
  // Fastify does, Express does not.
  hasEmptyParameters: (context) => requestOf(context).baseUrl === undefined,
  pathInMount,
  header,
  query: (context) => expressQuery(requestOf(context)),
  mostParameters: NODE_PARAMETERS,
  hidesBody: (context) => {
    const request = requestOf(context)
    return hidesBody(request.raw ?? request)
  },
  responseHeader: (response: PlatformResponse, name) => sentHeader(nodeResponse(response), name),
  isOver: (context: ExecutionContext) => {
    const response = responseOf(context)
    return response !== undefined && isOver(nodeResponse(response))
  },
  // One for each call: of several fields of a GraphQL query, each is counted.
  onClientClosed: (context, listener) => {
    const response = responseOf(context)
    return response ? whenClosed(nodeResponse(response), listener) : () => {}
  },
}

/** The reader of an app behind proxies. Warns of clients whose proxies cannot report an address: those of ws have no headers. */
export function readerBehind(proxies: TrustProxy, logger: Logger): RequestReader<ExecutionContext> {
  const { header: named = 'x-forwarded-for' }: { readonly header?: unknown } = Object(proxies)
  const trusted = String(named).toLowerCase()
  return {
    ...reader,
    header: (context, name) => {
      if (name === trusted && context.getType() === 'ws' && !requestOf(context).headers) warnOfSocket(logger)
      return header(context, name)
    },
  }
}

const warnOfSocket = (logger: Logger): void =>
  warnOnce(
    logger,
    'WARN_SPILLWAY_NO_ADDRESS',
    'trustProxy has no effect on a gateway: ',
    'a client of ws has no headers, so that all clients behind a proxy count as one. Write a key function: key: (context) => …. If no proxy is in front of the gateway, ignore this.',
  )
