import type { Store } from '@spillway/core'
import type { RateLimitOptions } from '@spillway/core/http'

/** The options of `rateLimit` that mean the same in every framework. */
export type NeutralOptions = RateLimitOptions<unknown> & { readonly store: Store }

/** A request, whatever the framework. */
export interface NeutralRequest {
  readonly method?: 'GET' | 'POST' | 'HEAD' | 'OPTIONS'
  /** `/` unless given; may hold a query. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** When it aborts, the client leaves; the promise of a response rejects when the app knows of that. */
  readonly signal?: AbortSignal
}

/** A response, whatever the framework. */
export interface NeutralResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** Sends a request to an app that was mounted. */
export type Send = (request?: NeutralRequest) => Promise<NeutralResponse>

/** What a story needs of the app besides the limiter. */
export interface Scene {
  /** When it resolves, a timeout before the limiter answers what is not answered with 503. */
  readonly timeout: Promise<void>
  /** Further limiters, each behind the one before it. */
  readonly inner: readonly NeutralOptions[]
  /** Called by the route's handler, each time. */
  readonly onHandled: () => void
}

/**
 * Builds an app with `rateLimit(options)` before a route for every path and method, which answers 200 and, as JSON,
 * what the adapter tells the handler: `{ "rateLimit": … }`.
 */
export type Mount = (options: NeutralOptions, scene: Scene) => Promise<Send> | Send
