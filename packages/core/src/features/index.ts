import { joinHeaders } from '../http/headers/headers.ts'
import { guardOf, type PlainGuard } from '../http/pipeline/guard.ts'
import { install, type Pipeline } from '../http/pipeline/install.ts'
import type { AdapterParts } from '../http/pipeline/parts.ts'
import type { Feature } from '../http/pipeline/seams.ts'
import type { DecisionReader, RequestDecision } from '../http/pipeline/verdict.ts'
import type { RequestReader } from '../http/requests/reader.ts'
import { whenAnswered } from '../http/requests/upgrade.ts'
import type { Store } from '../stores/store.ts'
import { answers } from './answers/index.ts'
import { blocks } from './blocks/index.ts'
import type { ByKey } from './by-key/calls.ts'
import { byKey } from './by-key/index.ts'
import { costs } from './costs/index.ts'
import { events } from './events/index.ts'
import { headerForms } from './header-forms/index.ts'
import { hints } from './hints/index.ts'
import { matching } from './matching/index.ts'
import type { PolicyOptions, RateLimitOptions } from './options.ts'
import { partitions } from './partitions/index.ts'
import { quotasByRequest } from './quotas-by-request/index.ts'
import { selectors } from './selectors/index.ts'
import { settling } from './settling/index.ts'
import { several } from './several/index.ts'
import { shadow } from './shadow/index.ts'
import { spill } from './spill/index.ts'
import { stores } from './stores/index.ts'
import { trustedProxies } from './trusted-proxies/index.ts'
import { waiting } from './waiting/index.ts'

/** All features of requests and policies, each after those that it is built on. */
const ALL: readonly Feature[] = [
  hints,
  trustedProxies,
  selectors,
  quotasByRequest,
  partitions,
  costs,
  matching,
  several,
  blocks,
  spill,
  events,
  stores,
  waiting,
  shadow,
  headerForms,
  answers,
  settling,
  byKey,
]

/** What these need of every adapter. */
export const ALL_PARTS: Required<Pick<AdapterParts<never>, 'join' | 'whenAnswered'>> = {
  join: joinHeaders,
  whenAnswered,
}

/** Installed by the first limiter, not by each import. */
let full: Pipeline | undefined

/** What the `rateLimit` of every framework returns beside what the framework calls. `Q` is what `decisionOf` takes. */
export interface HttpLimiter<R, S = unknown, Name extends string = string, A = S, Q = R>
  extends ByKey<Name>,
    DecisionReader<Q, Name> {
  /** Replaces the policies for later requests; policies that keep their names keep their counts. */
  replace(policies: readonly PolicyOptions<R, S, string, A>[]): void
}

/** Evaluates a request: synchronously if the store is in memory. */
export interface Guard<R, S = unknown, Name extends string = string, A = S> extends PlainGuard<R, S> {
  /** The decision about a request; undefined if the guard has not counted it. */
  decisionOf(request: R): RequestDecision<Name> | undefined
  /** Reads and changes the counts of a key. */
  readonly byKey: ByKey<Name>
  /** Replaces the policies, from the next request on. A policy that keeps its name keeps its counts. */
  replace(policies: readonly PolicyOptions<R, S, string, A>[]): void
}

/**
 * Builds the pipeline from request to verdict that all adapters use, with all features. `defaultStore` makes the store if the
 * options have none.
 */
export function httpGuard<R, S = unknown, Name extends string = string, A = S>(
  options: RateLimitOptions<R, S, Name, A>,
  reader: RequestReader<R>,
  defaultStore?: () => Store,
): Guard<R, S, Name, A> {
  full ??= install(ALL)
  return guardOf<R, S>(full, options, reader, defaultStore) as Guard<R, S, Name, A>
}
