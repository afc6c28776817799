/** Headers of a request: `Headers`, pairs, or an object as Node has. */
export type RequestHeaders =
  | Iterable<readonly [name: string, value: string]>
  | Readonly<Record<string, string | readonly string[] | number | undefined>>

/** A request that is about to be sent, as a pacer takes it. */
export interface CallDescription {
  readonly url: string | URL
  /**
   * The method.
   * @default `'GET'`
   */
  readonly method?: string | undefined
  /**
   * The headers, for `key` to read.
   * @default none
   */
  readonly headers?: RequestHeaders | undefined
}

/** A request that is about to be sent, as `key` gets it. */
export interface OutgoingRequest {
  /** The whole URL. */
  readonly url: string
  /** The method, in upper case. */
  readonly method: string
  readonly headers: Headers
}

declare const location: { readonly href: string } | undefined

/** Resolves a URL, in browsers against that of the page. */
export function outgoing({ url, method = 'GET', headers = {} }: CallDescription): OutgoingRequest {
  const base = typeof location === 'undefined' ? undefined : location.href
  let read: Headers | undefined
  return {
    url: new URL(url, base).href,
    method: method.toUpperCase(),
    get headers() {
      read ??= headersOf(headers)
      return read
    },
  }
}

function headersOf(headers: RequestHeaders): Headers {
  const pairs = Symbol.iterator in headers ? headers : Object.entries(headers)
  const read = new Headers()
  for (const [name, value] of pairs as Iterable<readonly [string, unknown]>) {
    if (value !== undefined && value !== null) read.append(name, String(value))
  }
  return read
}

/** The default key. */
export const hostOf = ({ url }: OutgoingRequest): string => new URL(url).host
