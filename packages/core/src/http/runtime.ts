import { hidesBody, isOver, type Outgoing, whenAborted, whenClosed } from './closed.ts'

/** What tells of a fetch `Request` that its client is gone. */
interface Abortable {
  readonly signal: Parameters<typeof whenAborted>[0]
}

/** What is read of a fetch `Request`. */
interface FetchRequest {
  readonly headers: { get(name: string): string | null }
  readonly body: unknown
  readonly url: string
}

/** Node's message that came in, as far as it is read. */
interface IncomingMessage {
  readonly url?: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly socket?: { readonly remoteAddress?: string }
}

/** What runtimes hand to a fetch handler beside the request: Hono's Node server, Deno, and Bun. */
interface Beside {
  readonly outgoing?: Outgoing
  readonly incoming?: IncomingMessage
  readonly remoteAddr?: { readonly hostname?: string }
  readonly requestIP?: (request: unknown) => { readonly address: string } | null
  readonly server?: Beside | null
}

// Every runtime that is Workers has it, though no ECMAScript library declares it.
declare const navigator: { readonly userAgent?: string } | undefined

/**
 * The address at the other end of a fetch request's connection; undefined where the runtime does not tell. Bun, Deno
 * and Node tell it by what they hand over `beside` the request. Workers have no connections, and tell it by a header
 * that Cloudflare overwrites in whatever comes from outside: it is believed there and nowhere else.
 */
export function connectionAddress(request: Pick<FetchRequest, 'headers'>, beside: unknown): string | undefined {
  if (typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers') {
    return request.headers.get('cf-connecting-ip') ?? undefined
  }
  if (typeof beside !== 'object' || beside === null) return undefined
  const { incoming, remoteAddr, server = beside as Beside } = beside as Beside
  if (typeof server?.requestIP === 'function') return server.requestIP(request)?.address
  return incoming?.socket?.remoteAddress ?? remoteAddr?.hostname
}

/**
 * Node's message that came in, which Hono's Node server hands over `beside` a fetch request, if the request is for its
 * path: one that the app makes up for another path is another request.
 */
export function incomingOf({ url }: Pick<FetchRequest, 'url'>, beside: unknown): IncomingMessage | undefined {
  const { incoming } = (beside ?? {}) as Beside
  if (incoming === undefined) return undefined
  const [path = ''] = incoming.url?.split('?', 1) ?? []
  const [, own] = /^[^:]+:\/\/[^/]*([^?]*)/.exec(url) ?? []
  return path === own ? incoming : undefined
}

/**
 * Whether a fetch request has a body that no header announces. On Node, the message that came in tells, also where the
 * request has lost its body, as that of a GET. If a header of the message has announced a body, another request took its
 * place.
 */
export function hasHiddenBody(request: Pick<FetchRequest, 'body' | 'url'>, beside: unknown): boolean {
  const incoming = incomingOf(request, beside)
  const { 'content-length': length, 'transfer-encoding': encoding } = incoming?.headers ?? {}
  return incoming && length === undefined && encoding === undefined ? hidesBody(incoming) : request.body !== null
}

/** Node's response, which Hono's Node server hands over `beside` a fetch request; undefined in other runtimes. */
export function outgoingOf<T extends Outgoing>(beside: unknown): T | undefined {
  const { outgoing } = (beside ?? {}) as Beside
  return typeof outgoing?.on === 'function' ? (outgoing as T) : undefined
}

/** Whether the response to a fetch request is over: Node's response is, or elsewhere the request is aborted. */
export function isAbandoned(request: Abortable, beside: unknown): boolean {
  const outgoing = outgoingOf(beside)
  return outgoing ? isOver(outgoing) : request.signal.aborted
}

/** Calls back when the response to a fetch request is over, at once if it is. Returns how to stop listening. */
export function whenAbandoned(request: Abortable, beside: unknown, listener: () => void): () => void {
  const outgoing = outgoingOf(beside)
  return outgoing ? whenClosed(outgoing, listener) : whenAborted(request.signal, listener)
}
