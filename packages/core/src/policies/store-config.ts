import { oncePer } from '../common/once-per.ts'
import { DEADLINE, type Duration } from '../common/time.ts'
import { type Logger, setLogger } from '../common/warn.ts'
import type { Store } from '../stores/store.ts'
import { checkIsStore, scopeOf } from '../stores/store-kinds.ts'
import type { StoreErrorOption } from './failure-mode.ts'
import type { StoreConfig } from './policy.ts'
import type { ThresholdEvent } from './thresholds.ts'

/** Options of a limiter that concern its store. */
export interface StoreOptions {
  /**
   * How long to wait for an answer of a remote store.
   * @default `'50ms'`
   */
  readonly deadline?: Duration
  /**
   * What to do while the store does not answer: `'local'` enforces the same quota in this process, at most quota ×
   * processes; `'allow'`, `'deny'` (503), `'throw'`, or another limiter.
   * @default `'local'`
   */
  readonly onStoreError?: StoreErrorOption
  /**
   * How many processes share the store. While `'local'` is in effect each enforces its share, so that all of them
   * together allow no more than the quota.
   * @default `1`
   */
  readonly replicas?: number
  /**
   * Where warnings and store failures are logged: a failure at once, then once a minute with counts.
   * @default `console`
   */
  readonly logger?: Logger
  /**
   * Called when a key has used 80 % of a quota, and when it has used all of it: each once per key and window. If it throws
   * or rejects, `logger` is warned.
   * @default none
   */
  readonly onThreshold?: (event: ThresholdEvent) => unknown
}

export const STORE_OPTIONS: readonly string[] = [
  'store',
  'deadline',
  'onStoreError',
  'replicas',
  'logger',
  'onThreshold',
]

/** How many processes limiters on a store have declared, by the owner of its scope: for a store in memory to warn of them. */
export const replicasOf: (owner: object) => { replicas: number } = oncePer('replicas', () => ({ replicas: 1 }))

/** Checks a store, makes it report to the logger, and declares how many processes there are. */
export function checkStore(store: unknown, logger: Logger, replicas: number): Store {
  checkIsStore('store', store)
  const { owner } = scopeOf(store)
  setLogger(owner, logger)
  if (replicas > 1) replicasOf(owner).replicas = replicas
  return store
}

/** What a store brings that answers late: its calls, and the options of limiters that set none. */
export type RemoteConfig = Pick<StoreConfig, 'calls' | 'deadline' | 'onStoreError' | 'replicas'>

/** What limiters do with a store that answers late if no option says otherwise. */
export const REMOTE_DEFAULTS: Omit<RemoteConfig, 'calls'> = { deadline: DEADLINE, onStoreError: 'local', replicas: 1 }

// Of all copies of this module. Enumerable, so that a copy of a store has it, too.
const REMOTE = Symbol.for('spillway/1 remote')

/** What a remote store brings; undefined for other stores. */
export const remoteConfigOf = (store: Store | undefined): RemoteConfig | undefined =>
  (store as { readonly [REMOTE]?: RemoteConfig } | undefined)?.[REMOTE]

/** Makes a store bring it. */
export const withRemoteConfig = <S extends object>(store: S, config: RemoteConfig | undefined): S =>
  Object.assign(store, config && { [REMOTE]: config })
