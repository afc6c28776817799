import { type Signal, whenAborted } from '../../common/signal.ts'
import { hidesBody, isClosed, type Outgoing } from './closed.ts'
import { whenClosed } from './closing.ts'
import { upgradeOf } from './upgrade.ts'

/** The part of a fetch `Request` that reports a disconnected client. */
interface Abortable {
  readonly signal: Signal
}

/** The part of a fetch `Request` that is read. */
interface FetchRequest {
  readonly headers: { get(name: string): string | null }
  readonly body: unknown
  readonly url: string
}

/** The part of Node's incoming message that is read. */
interface IncomingMessage {
  readonly url?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly socket?: { readonly remoteAddress?: string }
  readonly upgrade?: boolean
}

/** What runtimes pass to a fetch handler beside the request: Hono's Node server, Deno, and Bun. */
export interface RuntimeContext {
  readonly outgoing?: Outgoing
  readonly incoming?: IncomingMessage
  readonly remoteAddr?: { readonly hostname?: string }
  readonly requestIP?: (request: unknown) => { readonly address: string } | null
  readonly server?: RuntimeContext | null
}

/** What srvx, the server of h3 and of Elysia in Node, adds to a fetch request. */
interface SrvxRequest {
  readonly runtime?: {
    readonly node?: { readonly req: IncomingMessage; readonly res?: Outgoing }
    readonly deno?: { readonly info?: RuntimeContext }
    readonly bun?: RuntimeContext
  }
}

/** What the runtime of a request that srvx serves would pass beside it; undefined if another server does. */
export function srvxContext(request: object): RuntimeContext | undefined {
  const { node, deno, bun } = (request as SrvxRequest).runtime ?? {}
  if (node) return { incoming: node.req, ...(node.res && { outgoing: node.res }) }
  return deno?.info ?? bun
}

// Workers define it, but no ECMAScript library declares it.
declare const navigator: { readonly userAgent?: string } | undefined

/**
 * The address of the peer of a fetch request's connection; undefined if the runtime does not report it. Bun, Deno and
 * Node report it through the values that they pass `beside` the request. Workers have no connections: there, and only
 * there, it is read from a header that Cloudflare overwrites in all requests from outside.
 */
export function connectionAddress(request: Pick<FetchRequest, 'headers'>, beside: unknown): string | undefined {
  if (typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers') {
    return request.headers.get('cf-connecting-ip') ?? undefined
  }
  if (typeof beside !== 'object' || beside === null) return undefined
  const { incoming, remoteAddr, server = beside as RuntimeContext } = beside as RuntimeContext
  if (typeof server?.requestIP === 'function') return server.requestIP(request)?.address
  return incoming?.socket?.remoteAddress ?? remoteAddr?.hostname
}

/**
 * Node's incoming message, which Hono's Node server passes `beside` a fetch request, if the request is for its path: a
 * request that the app makes for another path is another request.
 */
export function incomingOf({ url }: Pick<FetchRequest, 'url'>, beside: unknown): IncomingMessage | undefined {
  const { incoming } = (beside ?? {}) as RuntimeContext
  // In Workers, any property of a service binding of this name is a function.
  if (typeof incoming?.url !== 'string') return undefined
  // Most often, the whole target is the same.
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (url.length === start + incoming.url.length && url.endsWith(incoming.url)) return incoming
  const end = incoming.url.indexOf('?')
  const path = end < 0 ? incoming.url : incoming.url.slice(0, end)
  const isPath = url.startsWith(path, start) && /^\??$/.test(url.charAt(start + path.length))
  return isPath ? incoming : undefined
}

/**
 * Whether a fetch request has a body that no header announces. On Node the incoming message shows it, even if the
 * request has lost its body, as a GET request does. If a header of the message announces a body, the request has
 * replaced the one that came in.
 */
export function hasHiddenBody(request: Pick<FetchRequest, 'body' | 'url'>, beside: unknown): boolean {
  const incoming = incomingOf(request, beside)
  const { 'content-length': length, 'transfer-encoding': encoding } = incoming?.headers ?? {}
  return incoming && length === undefined && encoding === undefined ? hidesBody(incoming) : request.body !== null
}

/**
 * Node's response, which Hono's Node server passes `beside` a fetch request, or the connection of an upgrade; undefined in other
 * runtimes.
 */
export function outgoingOf(beside: unknown): Outgoing | undefined {
  const { outgoing, incoming } = (beside ?? {}) as RuntimeContext
  const isResponse = typeof outgoing?.on === 'function' && typeof outgoing.headersSent === 'boolean'
  return isResponse ? outgoing : upgradeOf(incoming)
}

/**
 * Whether the response to a fetch request is over: by Node's response if there is one, otherwise by the request's abort
 * signal. While an app streams the response to a request, it may make another request, which has no answer yet. Deno warns of
 * handlers that read the signal: there, only that of a request that has `waited` is read.
 */
export function isAbandoned(
  request: Abortable & Pick<FetchRequest, 'url'>,
  beside: unknown,
  waited: boolean = true,
): boolean {
  const outgoing = outgoingOf(beside)
  if (outgoing === undefined) return (waited || !('Deno' in globalThis)) && request.signal.aborted
  return isClosed(outgoing) || (outgoing.headersSent && incomingOf(request, beside) !== undefined)
}

/**
 * Calls back when the response to a fetch request is over, at once if it is. Returns the function that stops listening.
 */
export function whenAbandoned(request: Abortable, beside: unknown, listener: () => void): () => void {
  const outgoing = outgoingOf(beside)
  return outgoing ? whenClosed(outgoing, listener) : whenAborted(request.signal, listener)
}
