import { type Duration, isSync, type Logger, micros, type Quota, QuotaError, type Store } from '@spillway/core'
import {
  checkCount,
  checkFunctions,
  checkLogger,
  checkOptions,
  checkStore,
  remoteConfigOf,
  type StoreConfig,
  SYNC_CALLS,
} from '@spillway/core/internal'
import { hostOf, type OutgoingRequest } from './outgoing.ts'

/** The options of `pacer`. */
export interface PacerOptions {
  /**
   * How many calls per time, such as `perSecond(5, { burst: 1 })`: what the service allows, or less. A lower limit is learned from
   * answers; a higher one never.
   * @default required
   */
  readonly quota: Quota
  /**
   * Where the turns are kept: `memoryStore()`, or a store that all processes share, such as `redisStore(client)`.
   * @default required
   */
  readonly store: Store
  /**
   * Where warnings and store failures are logged.
   * @default `console`
   */
  readonly logger?: Logger
  /**
   * Which calls count together: the text that it returns, or a promise of it.
   * @default the host of the URL
   */
  readonly key?: (request: OutgoingRequest) => string | PromiseLike<string>
  /**
   * The name of the limit, and part of its states' names in the store.
   * @default `'client'`
   */
  readonly name?: string
  /**
   * How long a call waits in all. One that would have to wait longer is rejected at once, with a `RateLimitedError`.
   * @default `'30s'`
   */
  readonly maxWait?: Duration
  /**
   * How long an answer can pause a key at most, whatever it asks for.
   * @default `'1h'`
   */
  readonly maxPause?: Duration
}

/** The options of `limitedFetch`. */
export interface LimitedFetchOptions extends PacerOptions {
  /**
   * How often a call is sent again that was denied (429, 403 and 503 that say so), or was not answered (502, 503, 504, no connection).
   * Only calls that can be repeated are, and no more than a tenth of all.
   * @default `2`
   */
  readonly retries?: number
  /**
   * Sends a call.
   * @default the global `fetch`
   */
  readonly fetch?: typeof fetch
}

/** The options of a pacer, checked. */
export interface Config extends PacerOptions {
  readonly key: (request: OutgoingRequest) => string | PromiseLike<string>
  readonly name: string
  readonly maxWaitMs: number
  readonly maxPauseMs: number
  readonly storeConfig: StoreConfig
}

const OPTIONS: readonly (keyof PacerOptions)[] = ['quota', 'store', 'key', 'name', 'maxWait', 'maxPause', 'logger']

/** What to write here, with the names that others have for it. */
const PEER_NAMES: Readonly<Record<string, string>> = {
  'quota: perSecond(5, { burst: 1 })': 'limit interval intervalCap minTime reservoir maxConcurrent concurrency',
  'retries: 2': 'retry maxRetries retryLimit',
  "maxWait: '30s'": 'timeout maxDelay highWater',
}

const hintOf = (name: string): string | undefined => {
  const here = Object.keys(PEER_NAMES).find((each) => PEER_NAMES[each]?.split(' ').includes(name))
  if (here) return `Here that is ${here}.`
  return ['deadline', 'onStoreError', 'replicas'].includes(name)
    ? `Write store: remoteStore(store, { ${name} }).`
    : undefined
}

/** Checks the options. Throws a `QuotaError` if one is invalid. */
export function configOf(where: string, options: PacerOptions, others: readonly string[] = []): Config {
  checkOptions(where, options, [...OPTIONS, ...others], hintOf)
  checkFunctions(options, ['key'])
  return {
    ...options,
    key: options.key ?? hostOf,
    name: options.name ?? 'client',
    maxWaitMs: micros(options.maxWait ?? '30s', 'maxWait') / 1_000,
    maxPauseMs: micros(options.maxPause ?? '1h', 'maxPause') / 1_000,
    storeConfig: storeConfigOf(options),
  }
}

/** A call that waits for its turn can wait for a store, too: longer than a request that comes in. In microseconds. */
const LEAST_DEADLINE = 1e6

/** Stores of ours bring what a store needs that answers late, as `remoteStore` does for others. */
function storeConfigOf({ store: given, logger: to }: PacerOptions): StoreConfig {
  const logger = checkLogger(to)
  const store = checkStore(given, logger, 1)
  const remote = remoteConfigOf(store)
  if (!isSync(store) && remote === undefined) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'this store answers late. Write store: remoteStore(store).')
  }
  const deadline = Math.max(remote?.deadline ?? 0, LEAST_DEADLINE)
  return { replicas: 1, calls: SYNC_CALLS, ...remote, deadline, store, logger } as StoreConfig
}

/** The options of `limitedFetch`, checked. */
export interface FetchConfig extends Config {
  readonly retries: number
  readonly fetch: typeof fetch | undefined
}

/** Checks the options of `limitedFetch`. */
export function fetchConfigOf(options: LimitedFetchOptions): FetchConfig {
  const config = configOf('limitedFetch', options, ['retries', 'fetch'])
  checkFunctions(options, ['fetch'])
  return { ...config, fetch: options.fetch, retries: checkCount('retries', options.retries ?? 2, 0) }
}
