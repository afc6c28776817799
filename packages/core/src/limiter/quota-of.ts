import type { Quota } from '../algorithms/quota-types.ts'
import type { Store } from '../stores/store.ts'

/** The quotas that a store can count by. */
export type QuotaOf<S extends Store> = S extends { checkQuota(quota: Quota): asserts quota is infer Q extends Quota }
  ? Q
  : Quota
