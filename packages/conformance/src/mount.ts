import type { Store } from '@spillway/core'
import type { ByKey, RateLimitOptions } from '@spillway/core/http'

/** The options of `rateLimit` that are the same in every framework. */
export type NeutralOptions = RateLimitOptions<unknown> & { readonly store: Store }

/** A request for any framework. */
export interface NeutralRequest {
  readonly method?: 'GET' | 'POST' | 'HEAD' | 'OPTIONS'
  /**
   * The path, with an optional query.
   * @default `'/'`
   */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** If it aborts, the client disconnects. The promise of a response rejects when the app has noticed that. */
  readonly signal?: AbortSignal
  /**
   * Whether the request is pipelined behind one that the server leaves open, on the same connection. Over transports other
   * than HTTP/1.1, it is sent as any other.
   * @default false
   */
  readonly pipelined?: boolean
}

/** A response of any framework. */
export interface NeutralResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** Sends a request to a mounted app. */
export type Send = (request?: NeutralRequest) => Promise<NeutralResponse>

/** The parts of a test app besides the limiter. */
export interface Scene {
  /** When it resolves, a timeout in front of the limiter responds 503 to open requests. */
  readonly timeout: Promise<void>
  /** Further limiters, each behind the one before it. */
  readonly inner: readonly NeutralOptions[]
  /** Called by the route's handler for each request. */
  readonly onHandled: () => void
  /** The features that the story uses, besides those that its options name: `leanRateLimit` installs them. */
  readonly besides: readonly string[]
  /** Called with the result of each `rateLimit(options)`; returns it. */
  readonly limited: <T extends ByKey>(limit: T) => T
}

/**
 * Builds an app with `rateLimit(options)` before a route for every path and method, which answers 200 and, as JSON,
 * the value that the adapter passes to the handler: `{ "rateLimit": … }`.
 */
export type Mount = (options: NeutralOptions, scene: Scene) => Promise<Send> | Send

/** What an adapter does for a request, and what its framework does anyway. */
export interface AdapterBounds {
  /**
   * How often a character of a request may be visited until the request is counted; not tested if `Infinity`.
   * @default `4`
   */
  readonly mostVisits?: number
  /**
   * Whether a URL parser has read the target before the adapter does, which writes a quote as three characters.
   * @default false
   */
  readonly parsesUrls?: boolean
  /**
   * Whether a target may also be a whole URL, as in `GET http://host/path HTTP/1.1`, and the framework passes it on as it is.
   * @default false
   */
  readonly takesUrls?: boolean
  /** Has the framework parse what it parses when a handler first reads it. That is not counted: the app pays for it anyway. */
  readonly parse?: (request: never) => void
}
