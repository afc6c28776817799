import { MOST_UNITS } from '../../kernels/penalty.ts'
import type { Quota } from '../quota-types.ts'

type WithQuota = { readonly quota: Quota }

/** Reports whether a quota is that of a block list. Other quotas have far fewer units. */
export const isBlockList = ({ kernel, limit }: Quota): boolean => kernel === 'penalty' && limit === MOST_UNITS

/** The name of the states of a policy's block list, and of its denials. */
export const blockListName = (name: string): string => `${name} (blocked)`

/** Reports whether the decision of a quota is shown: that of a block list only if the key is blocked. */
export const isShown = (quota: Quota, { allowed }: { readonly allowed: boolean }): boolean =>
  !allowed || !isBlockList(quota)

/** The block list among the policies of a limiter; undefined without one. */
export const blockListOf = <P extends WithQuota>(policies: readonly P[]): P | undefined =>
  policies.find(({ quota }) => isBlockList(quota))

/** The policies of a limiter, but for its block list. */
export const shownPolicies = <P extends WithQuota>(policies: readonly P[]): readonly P[] =>
  policies.filter(({ quota }) => !isBlockList(quota))
