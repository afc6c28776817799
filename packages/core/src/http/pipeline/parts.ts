import type { Store } from '../../stores/store.ts'
import type { joinHeaders } from '../headers/headers.ts'
import type { RequestReader } from '../requests/reader.ts'
import type { whenAnswered } from '../requests/upgrade.ts'
import type { PlainGuard } from './guard.ts'

/** What only some features need of an adapter. */
export interface AdapterParts<R> {
  /** Joins headers with those of limiters before. */
  readonly join: typeof joinHeaders
  /** Calls back when a response of Node has been sent. */
  readonly whenAnswered?: typeof whenAnswered
  /** What features read of a request. */
  readonly reader?: Partial<RequestReader<R>>
  /** The store of a limiter that is given none, if it must do more than consume. */
  readonly memoryStore?: () => Store
}

/** Makes what an adapter returns of a guard: middleware, a hook or a plugin. */
export type LimitOf<R, S, P, L> = (guard: PlainGuard<R, S>, parts: P) => L
