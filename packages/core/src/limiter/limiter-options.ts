import { blockListName } from '../algorithms/penalty/block-list.ts'
import { BLOCK_LIST } from '../algorithms/penalty/block-list-quota.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { invalidOption, QuotaError } from '../common/errors.ts'
import { checkOptions, hintOfPeer } from '../common/guess.ts'
import type { Awaitable } from '../common/maybe-promise.ts'
import { checkBoolean, isObject } from '../common/options.ts'
import type { NamedPolicies } from '../policies/costs.ts'
import { checkAtMost } from '../policies/count.ts'
import type { Policy, StoreConfig } from '../policies/policy.ts'
import { checkPolicyName, policyOf } from '../policies/policy-of.ts'
import { checkSpill, type Targets } from '../policies/spill-targets.ts'
import { STORE_OPTIONS, type StoreOptions } from '../policies/store-config.ts'
import type { Store } from '../stores/store.ts'

/** Options for all quotas of a limiter. */
export interface CommonOptions extends StoreOptions {
  /** Where the counts are kept. */
  readonly store: Store
  /**
   * The name of the limiter: its policy's name in decisions, and part of its states' names in the store. With `quotas`
   * it is a prefix.
   * @default `'default'`
   */
  readonly name?: string
  /**
   * Whether keys can be blocked by hand: `block(key, '1h')`. Each request then looks at a second state of its key, in the
   * same step. A limiter with a `penalty` can block without it.
   * @default `false`
   */
  readonly blocks?: boolean
}

/** Returns the quota of a key, such as that of its plan. */
export type QuotaByKey = (key: string) => Awaitable<Quota>

/** One quota, or several under names of their own. */
export type QuotaOptions =
  | {
      /**
       * How many units per time, such as `perMinute(100)`; or a function that returns the quota of a key.
       * @default required, or `quotas`
       */
      readonly quota: Quota | QuotaByKey
      readonly quotas?: never
      readonly spill?: never
    }
  | {
      /**
       * Several quotas by name, checked together: all or none is consumed.
       * @default required, or `quota`
       */
      readonly quotas: Readonly<Record<string, Quota>>
      readonly quota?: never
      /**
       * For a quota, the name of another one: `{ second: 'extra' }`. If `second` denies a request, its units are consumed
       * from `extra` instead.
       * @default none
       */
      readonly spill?: Readonly<Record<string, string>>
    }

/** Options of a limiter on any store. */
export type RateLimiterOptions = CommonOptions & QuotaOptions

/** The names of the options that `replace` takes. */
export const QUOTA_OPTIONS: readonly string[] = ['quota', 'quotas', 'spill']

/** The options of a limiter that `replace` leaves out. */
export const NO_QUOTAS = { quota: undefined, quotas: undefined, spill: undefined } as const

/** The names of the options of `rateLimiter`. */
export const LIMITER_OPTIONS: readonly string[] = /* @__PURE__ */ ['quota', 'quotas', 'spill', 'name', 'blocks'].concat(
  STORE_OPTIONS,
)

/** Throws a `QuotaError` for options that `rateLimiter` does not have. */
export function checkLimiterOptions(options: unknown): void {
  checkOptions('rateLimiter', options, LIMITER_OPTIONS, (option) => hintOfPeer(option, LIMITER_OPTIONS))
}

/** The policies of a limiter. Throws a `QuotaError` if an option is invalid. */
export function namedPolicies(options: RateLimiterOptions, storeConfig: StoreConfig): NamedPolicies {
  const { quota, quotas, name } = options
  if (quota !== undefined && quotas !== undefined) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'rateLimiter takes quota or quotas, not both.')
  }
  if (quotas === undefined) {
    const policy = policyOf(name ?? 'default', quota as Quota, storeConfig)
    return {
      policies: [policy, ...blockListFor(options, policy.name, storeConfig)],
      names: [policy.name],
      targets: targetsOf(options),
    }
  }
  if (name !== undefined) checkPolicyName(name)
  const names = isObject(quotas) && !Array.isArray(quotas) ? Object.keys(quotas) : []
  if (names.length === 0) {
    throw invalidOption('quotas must name at least one quota: { burst: perSecond(10) }', quotas)
  }
  checkAtMost('quotas', names.length)
  const policies = Object.entries(quotas).map(([each, quota]) =>
    policyOf(name === undefined ? each : `${name}.${each}`, quota, storeConfig),
  )
  const blockList = blockListFor(options, name ?? (names[0] as string), storeConfig)
  return { policies: [...policies, ...blockList], names, targets: targetsOf(options) }
}

/** The limiter's block list, if it has one. */
function blockListFor({ blocks }: RateLimiterOptions, name: string, storeConfig: StoreConfig): readonly Policy[] {
  return checkBoolean('blocks', blocks) ? [policyOf(name, BLOCK_LIST, storeConfig, blockListName(name))] : []
}

/** For each quota, the index of its spill quota; -1 if it has none. */
function targetsOf({ quotas = {}, spill = {} }: RateLimiterOptions): Targets {
  const names = Object.keys(quotas)
  checkOptions('spill', spill, names)
  checkSpill(spill, names)
  const places = new Map(names.map((name, i) => [name, i]))
  return names.map((name) => (Object.hasOwn(spill, name) ? (places.get(spill[name] as string) ?? -1) : -1))
}
