import type { Awaitable } from '../maybe-promise.ts'

/** Claims about a request's user that the app has verified, such as the payload of a checked token. */
export type Claims<R> = (request: R) => Awaitable<Readonly<Record<string, unknown>> | undefined | null>

/**
 * What an adapter can read from its framework's request `R`: all that the guard needs to know of HTTP.
 * Names of headers are asked for in lower case.
 */
export interface RequestReader<R> {
  /** The client's address as the framework tells it, by the framework's own rules about proxies. */
  address(request: R): string | undefined
  /** The address at the other end of the connection. */
  peer(request: R): string | undefined
  /** Whether the framework trusts whatever address a client writes into `X-Forwarded-For`; to be left out if it cannot. */
  trustsEveryProxy?(request: R): boolean
  /** In capitals. */
  method(request: R): string
  /**
   * The whole path, without the query, as the router reads it: wherever the middleware is mounted, and after whatever
   * has rewritten it. If it may be one or another, both, the router's first: policies are for either.
   */
  path(request: R): string | readonly string[]
  /** The value of a header, whose name is in small letters; undefined where there is none. */
  header(request: R, name: string): string | undefined
  /** The value of a parameter of the query, decoded, of a repeated one the first; undefined if there is none. */
  query(request: R, name: string): string | undefined
  /**
   * Whether a request has a body that neither `Content-Length` nor `Transfer-Encoding` announces, as HTTP/2 allows.
   * Default: requests whose method is for sending something, such as POST, are taken to have one.
   */
  hidesBody?(request: R): boolean
  /** One object for each request, the same however often the request comes by. */
  identity(request: R): object
  /** Whether the adapter sends a `Response` that `onDenied` returns, as it is. */
  readonly sendsResponses?: boolean
  /** Calls back if the client goes away before it is answered, or has; returns how to stop listening. */
  onGone(request: R, listener: () => void): () => void
}
