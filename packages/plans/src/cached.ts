import { type Quota, QuotaError } from '@spillway/core'
import { andThen, degradedQuota, formatValue, type MaybePromise, maybePromise } from '@spillway/core/internal'
import { type Found, type Lookup, Lookups } from './lookups.ts'
import { type CachedOptions, configOf } from './options.ts'

/** A cached lookup. A value that is known is returned in the same tick, without a promise. */
export interface Cached<V, D = undefined> {
  /**
   * Returns the value of a key; the default if the key is unknown or missing. Only the first requests of a key wait for
   * its lookup. Rejects if the lookup fails and there is neither a last known value nor a default.
   */
  (key: string | undefined): V | D | Promise<V | D>
  /**
   * Returns the quota for a key's value, from an object by value or a function. If the lookup has failed, the decisions
   * of the quota have `degraded`. Throws a `QuotaError` if the object has no quota for the value.
   */
  quota(key: string | undefined, quotas: QuotasOf<V | D>): Quota | Promise<Quota>
  /** Deletes what is known about a key, such as when its plan has changed. Returns whether its value was known. */
  delete(key: string): boolean
  /** Deletes what is known about all keys. */
  clear(): void
}

/** The quota of each value: by name, if the values are text, or a function, which may return a promise. */
export type QuotasOf<V> =
  | ((value: V) => Quota | PromiseLike<Quota>)
  | (V extends string ? Readonly<Record<V, Quota>> : never)

/**
 * Caches a lookup by key, within bounds, with one lookup of a key at a time. After `ttl`, the last known value is used
 * while the key is looked up again. Throws a `QuotaError` if an option is invalid.
 *
 * @example
 * const tier = cached((apiKey: string) => (apiKey.startsWith('pro-') ? 'pro' : 'free'), { ttl: '1m' })
 */
export function cached<V extends NonNullable<unknown>, D extends V | undefined = undefined>(
  lookup: Lookup<V>,
  options: CachedOptions<V, D> = {},
): Cached<V, D> {
  if (typeof lookup !== 'function') {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `cached takes a function that looks up a key: cached((apiKey) => db.planOf(apiKey)); got ${formatValue(lookup)}.`,
    )
  }
  const lookups = new Lookups<V>(lookup, configOf(options))
  const read = <T>(key: string | undefined, use: (found: Found<V>) => MaybePromise<T>): MaybePromise<T> =>
    andThen(lookups.find(key), use)
  // The default stands for whatever is not known.
  const valueIn = ({ value }: Found<V>): V | D => value as V | D
  return Object.assign((key: string | undefined) => read(key, valueIn), {
    quota: (key: string | undefined, quotas: QuotasOf<V | D>) =>
      read(key, (found) =>
        andThen(maybePromise(quotaOf(valueIn(found), quotas)), (quota) =>
          found.degraded === undefined ? quota : degradedQuota(quota, found.degraded),
        ),
      ),
    delete: (key: string) => lookups.delete(key),
    clear: () => lookups.clear(),
  })
}

function quotaOf<V>(value: V, quotas: QuotasOf<V>): Quota | PromiseLike<Quota> {
  if (typeof quotas === 'function') return quotas(value)
  if (typeof value === 'string' && Object.hasOwn(quotas ?? {}, value))
    return (quotas as Readonly<Record<string, Quota>>)[value] as Quota
  if (typeof quotas !== 'object' || quotas === null) {
    throw noQuota(
      `quota(key, quotas) takes the quotas by value, { free: perMinute(60) }, or a function; got ${formatValue(quotas)}.`,
    )
  }
  if (value === undefined) {
    throw noQuota(
      "the key is missing or unknown, and there is no default. Set it: cached(lookup, { default: 'free' }).",
    )
  }
  const remedy = typeof value === 'string' ? 'Add it.' : 'Write how to choose one: quota(key, (value) => …).'
  throw noQuota(
    `there is no quota for ${formatValue(value)}: there are ${Object.keys(quotas).map(formatValue).join(', ')}. ${remedy}`,
  )
}

const noQuota = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_QUOTA', problem)
