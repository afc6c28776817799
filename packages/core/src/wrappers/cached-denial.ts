import { oncePer } from '../common/once-per.ts'
import type { Micros } from '../common/time.ts'
import type { CachedState } from './cached-state.ts'

/** The cached denial of a key. */
export interface CachedDenial extends CachedState {
  readonly policy: string
  /** When the store denied it, by the store's clock. */
  readonly now: Micros
  /** When the store was asked, and when it had answered, by `stopwatch`. */
  readonly askedMs: number
  readonly answeredMs: number
}

/** The cache of all wrappers of a scope. */
interface Cache {
  readonly denials: Map<string, CachedDenial>
  calls: number
  /** Answers up to this call may be older than a refund or reset, and are not cached. */
  lastInvalidation: number
}

export const cacheOf: (scope: object) => Cache = oncePer(
  'deny caches',
  (_scope: object): Cache => ({ denials: new Map(), calls: 0, lastInvalidation: 0 }),
)
