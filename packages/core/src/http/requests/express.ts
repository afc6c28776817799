import type { Query } from './query.ts'
import { targetOf } from './targets.ts'

/** The part of an Express request that is read. */
export interface ExpressLike {
  readonly url?: string
  readonly query?: unknown
  readonly app?: { get?(setting: string): unknown }
}

/**
 * The query of a request of Express. Express 4 has parsed it, and Express 5 parses it whenever it is read: its simple parser takes
 * tens of milliseconds for one of a thousand escapes that are no UTF-8.
 */
export function expressQuery(request: ExpressLike): Query | undefined {
  const isSimple = !Object.hasOwn(request, 'query') && request.app?.get?.('query parser') === 'simple'
  return isSimple ? targetOf(request.url ?? '').query : (request.query as Query | undefined)
}

/** How many parameters `node:querystring` parses, which Express and Koa 2 use. */
export const NODE_PARAMETERS = 1_000
