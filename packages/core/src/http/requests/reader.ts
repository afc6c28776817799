import type { Awaitable } from '../../common/maybe-promise.ts'
import type { Query } from './query.ts'

/** Returns the claims about a request's user that the app has verified, such as the payload of a checked token. */
export type Claims<R> = (request: R) => Awaitable<Readonly<Record<string, unknown>> | undefined | null>

/** Reads a framework's request `R`: everything that the guard needs of HTTP. Header names are passed in lower case. */
export interface RequestReader<R> {
  /** The client's address by the framework's own proxy settings. */
  address(request: R): string | undefined
  /** The address of the connection's peer. */
  peer(request: R): string | undefined
  /**
   * The warning `TRUSTS_EVERY_PROXY` if the framework trusts any address that a client writes into `X-Forwarded-For`. Omit it
   * if that is impossible.
   */
  proxyWarning?(request: R): string | false | undefined
  /** The method in upper case. */
  method(request: R): string
  /**
   * The whole path without the query, as the router reads it: independent of where the middleware is mounted, and after
   * rewriting. If the path is ambiguous, all readings, the router's first: policies apply to any of them.
   */
  path(request: R): string | readonly string[]
  /**
   * The readings by which `skip` goes, all of which must match: those of `path`, but not what a mount has left of the path. To
   * skip a request by its whole path is no mistake, although a router reads the rest of it. Leave out only what the app has
   * removed, never what a client can. Omit it if they are those of `path`.
   */
  wholePath?(request: R): string | readonly string[]
  /**
   * The path below the prefix under which the middleware is mounted, to warn of patterns for it; undefined without a
   * prefix. Omit it if the framework does not report it.
   */
  pathInMount?(request: R): string | undefined
  /**
   * Whether the router accepts empty segments as parameters, such as `/users/` for `/users/:id`: policies apply to these
   * readings of the path, too.
   * @default false
   */
  hasEmptyParameters?(request: R): boolean
  /**
   * Whether handlers are mounted by the text with which a path begins, so that `/login~1` is below `/login`: policies for all
   * below a path apply to such paths, too.
   * @default false
   */
  readonly mountsByText?: boolean
  /** The value of a header, whose name is in lower case; undefined if it is missing. */
  header(request: R, name: string): string | undefined
  /**
   * The query as the framework has parsed it, or as text without the question mark: several texts if the framework and a URL
   * parser read it differently.
   */
  query(request: R): Query | undefined
  /**
   * How many parameters of a text the framework reads; of a longer one, it ignores the rest.
   * @default all
   */
  readonly mostParameters?: number
  /**
   * Whether a request has a body that neither `Content-Length` nor `Transfer-Encoding` announces, as HTTP/2 allows.
   * Default: true for methods that send a body, such as POST.
   */
  hidesBody?(request: R): boolean
  /**
   * The value of a header of a response that has been sent, as `settle` gets it. Omit it if responses have none: preflights that a
   * handler permits are then counted.
   */
  responseHeader?(response: never, name: string): unknown
  /** One object per request, the same each time the request passes a limiter. Default: the request. */
  identity?(request: R): object
  /**
   * Whether nothing can be answered any more: another handler has answered, or the client has disconnected. `response` is what
   * the guard gets beside the request. Deno warns of handlers that read the signal of a request that has not `waited`. Omit it if
   * the adapter finds out by itself, and discards such verdicts.
   */
  isOver?(response: never, waited: boolean): boolean
  /** Whether the adapter sends a `Response` that `onDenied` returns, unchanged. */
  readonly sendsResponses?: boolean
  /** Ends the hint for an option of another rate limiter: `; NAME takes such options`. */
  readonly peerHint?: string
  /**
   * Calls back if the client disconnects before it is answered, at once if it has. Returns the function that stops
   * listening.
   */
  onClientClosed(request: R, listener: () => void): () => void
}

/** What every limiter reads of a request. */
export type PlainReader<R> = Omit<RequestReader<R>, 'path' | 'query' | 'onClientClosed'>

/** What selectors and matches read of a request. */
export type RouteReader<R> = Pick<RequestReader<R>, 'path' | 'query'> & Partial<RequestReader<R>>
