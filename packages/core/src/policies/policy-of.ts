import { algorithmOf, checkConsumable, checkQuota } from '../algorithms/algorithm.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { invalidOption } from '../common/errors.ts'
import { consumeSteps } from './consume-steps.ts'
import type { Policy, PolicyCheck, StoreConfig } from './policy.ts'

/** The store that all of these checks go to, and how. */
export const configOf = (checks: readonly PolicyCheck[]): StoreConfig => (checks[0] as PolicyCheck).policy.storeConfig

/** Names a quota and its states. Names are sent in headers, hence printable ASCII. */
export function policyOf(name: string, quota: Quota, storeConfig: StoreConfig, stateName: string = name): Policy {
  checkPolicyName(name)
  // Without calls, a limiter consumes and peeks, and does nothing else.
  const check = storeConfig.calls === undefined ? checkConsumable : checkQuota
  check('quota', quota)
  const { store, replicas } = storeConfig
  algorithmOf(quota).checkSize?.(name, quota, store.maxLogLimit)
  store.checkQuota?.(quota)
  return {
    name: stateName,
    quota,
    storeConfig,
    localQuota: storeConfig.calls?.shareOf?.(quota, replicas) ?? quota,
    ...consumeSteps(stateName, quota, store),
  }
}

export function checkPolicyName(name: unknown): void {
  if (typeof name === 'string' && /^[\x20-\x7e]{1,100}$/.test(name)) return
  throw invalidOption('a policy name goes into headers: 1 to 100 printable ASCII characters, such as "per-user"', name)
}

/** Reports whether requests wait in a queue: the bucket accepts more units than it allows immediately. */
export const isQueued = ({ policy: { quota }, spill }: PolicyCheck): boolean =>
  isQueue(quota) || (spill !== undefined && isQueued(spill))

/** Reports whether a quota is a bucket with a queue. */
export const isQueue = (quota: Quota): boolean => quota.kernel === 'bucket' && quota.immediateUnits < quota.limit
