/** The headers of a Node request: over HTTP/2, `:authority` takes the place of `Host`. */
type NodeHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The value of a header of a Node request, whose name is in lower case. Repeated values are joined. */
export function nodeHeader(headers: NodeHeaders | undefined, name: string): string | undefined {
  const value = headers?.[name] ?? (name === 'host' ? headers?.[':authority'] : undefined)
  return typeof value === 'object' ? value.join(', ') : value
}

/** The value of a header of a fetch request. Over HTTP/2 only its URL has the host. */
export const fetchHeader = (
  { headers, url }: { readonly headers: { get(name: string): string | null }; readonly url: string },
  name: string,
): string | undefined => headers.get(name) ?? (name === 'host' ? /^[^:]+:\/\/([^/]*)/.exec(url)?.[1] : undefined)

/** The part of a Node response that knows its headers. */
interface SentResponse {
  getHeader(name: string): unknown
  /** The head of a response of HTTP/1, as it was written. */
  readonly _header?: unknown
  readonly stream?: { readonly sentHeaders?: object }
}

/**
 * The value of a header of a Node response that has been sent. `getHeader` does not know what only `writeHead` was given, or the
 * stream of HTTP/2.
 */
export const sentHeader = (response: SentResponse, name: string): unknown =>
  response.getHeader(name) ??
  Object(response.stream?.sentHeaders)[name] ??
  new RegExp(`^${name}: *(.+)`, 'im').exec(`${response._header}`)?.[1]
