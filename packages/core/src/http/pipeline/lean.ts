import { invalidOption, QuotaError } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { andThen, checked } from '../../common/maybe-promise.ts'
import { checkLogger, type Logger } from '../../common/warn.ts'
import type { Acquisition, StoreConfig, StoreResult } from '../../policies/policy.ts'
import { storeOr } from '../../stores/default-store.ts'
import type { Store } from '../../stores/store.ts'
import { preparesTakes } from '../../stores/store-kinds.ts'
import { addressKey } from '../addresses/address.ts'
import { checkReturnedKey } from '../requests/returned.ts'
import type { CompiledPolicy } from './compiled.ts'
import type { Read, RequestSources } from './request-sources.ts'
import type { AcquisitionBuilder, Feature, Seams } from './seams.ts'

/**
 * What limiters of the lean entries have: the address of the client or a function as the key, one policy, the newest headers, and
 * a store of their own.
 */
export const plain: Feature = {
  name: 'plain',
  layers: {
    hint: () => (option) => hintOf(option),
    store: () => (options, defaultStore) => storeOf(options, defaultStore as () => Store),
    several: () => onePolicy,
    key: () => keyReader,
    quota,
    enforce: () => consuming,
  },
}

/** The features with their options, in the order in which they are installed, whatever the order in which an app names them. */
const OPTIONS: Readonly<Record<string, string>> = {
  trustedProxies: 'trustProxy',
  selectors: 'claims',
  quotasByRequest: '',
  partitions: 'partition',
  costs: 'cost defaultCost maxCost',
  matching: 'match skip',
  several: 'policies tiers',
  blocks: 'blocks',
  spill: 'spill',
  events: 'onDecision',
  stores: 'store deadline onStoreError replicas onThreshold',
  waiting: 'maxWait',
  shadow: 'mode',
  headerForms: 'headers jitter exposeHeaders unit',
  answers: 'onDenied problem',
  settling: 'refundIf countIf settle countPreflight',
  byKey: '',
}

/**
 * Features in that order. One that is not listed has its layers beneath all others. Throws a QuotaError if one is named twice, or
 * without those that it is built on.
 */
export function inOrder(features: readonly Feature[]): readonly Feature[] {
  const order = Object.keys(OPTIONS)
  const sorted = [...features].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  for (const [i, { name, needs = [] }] of sorted.entries()) {
    const before = sorted.slice(0, i).map((each) => each.name)
    if (before.includes(name)) {
      throw new QuotaError('ERR_SPILLWAY_OPTION', `the feature ${name} is named twice. Name it once.`)
    }
    const missing = needs.find((each) => !before.includes(each.name))
    if (missing !== undefined) {
      throw new QuotaError(
        'ERR_SPILLWAY_OPTION',
        `the feature ${name} is built on ${missing.name}. Name it, too: createRateLimit(${missing.name}, ${name}).`,
      )
    }
  }
  return sorted
}

/** Names the feature of an option. */
function hintOf(option: string): string | undefined {
  const feature = Object.keys(OPTIONS).find((each) => OPTIONS[each]?.split(' ').includes(option))
  return feature && `It is an option of the feature ${feature}: createRateLimit(${feature}).`
}

function storeOf(options: object, defaultStore: () => Store): StoreConfig {
  const logger = checkLogger((options as { readonly logger?: Logger }).logger)
  return {
    store: storeOr(undefined, defaultStore, logger),
    logger,
    replicas: 1,
  } as object as StoreConfig
}

function onePolicy<R, S>(...[given, compile]: Parameters<Seams<R, S>['several']>): readonly CompiledPolicy<R, S>[] {
  if (Array.isArray(given) && given.length === 1) return [compile(given[0])]
  throw invalidOption('replace takes a list of one policy', given, 'Several are a feature: createRateLimit(several).')
}

function quota<R, S>(next: Seams<R, S>['quota']): Seams<R, S>['quota'] {
  return (option, build, name) => {
    if (typeof option !== 'function') return next(option, build, name)
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'quota is a function: createRateLimit(quotasByRequest).')
  }
}

/** Reads the client's address, or what a function returns. */
function keyReader<R>(option: unknown, { address, ipv6Prefix }: RequestSources<R>): Read<R, string | undefined> {
  if (option === 'ip') return (parts) => addressKey(parts.once('ip', address), ipv6Prefix)
  if (typeof option === 'function') {
    const keyOf = checked(option as (request: R) => unknown, checkReturnedKey, inTime('key'))
    return ({ request }) => keyOf(request)
  }
  throw invalidOption("key must be 'ip' or a function", option, 'Selectors are a feature: createRateLimit(selectors).')
}

/** Consumes the units of one check, in the same tick. With the calls that some features bring, they can be refunded. */
function consuming<R, S>([compiled]: readonly CompiledPolicy<R, S>[]): AcquisitionBuilder<R, S> {
  const { store, calls } = (compiled as CompiledPolicy<R, S>).storeConfig
  const prepared = calls === undefined && preparesTakes(store) ? store : undefined
  return (_, checks) => {
    const [check] = checks
    if (check === undefined) return undefined
    if (prepared === undefined) return andThen(calls.decide(checks, 'consume'), (result) => acquiredBy(checks, result))
    const { take, decide } = check.policy.costing(check.cost)
    const decision = decide(take.take(check.key, prepared.clock()))
    return { checks, decision, results: [] }
  }
}

const acquiredBy = (checks: Acquisition['checks'], result: StoreResult): Acquisition => ({
  checks,
  decision: result.decisions[0] as Acquisition['decision'],
  results: [result],
})
