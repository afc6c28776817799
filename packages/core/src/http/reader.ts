/**
 * What an adapter can read from its framework's request `R`: all that the guard needs to know of HTTP.
 * Names of headers are asked for in lower case.
 */
export interface RequestReader<R> {
  /** The client's address as the framework tells it, by the framework's own rules about proxies. */
  address(request: R): string | undefined
  method(request: R): string
  path(request: R): string
  header(request: R, name: string): string | undefined
  query(request: R, name: string): string | undefined
  /** Calls back if the client goes away before it is answered; returns how to stop listening. */
  onGone(request: R, listener: () => void): () => void
}
