import type { Quota } from '@spillway/core'
import type { RulePolicy } from '@spillway/core/rules'
import { count, span } from '../format.ts'

/** Something in a policy that is valid, and likely not what was meant. */
export interface Trap {
  readonly policy: string
  /** Stays what it is from version to version. */
  readonly code: string
  readonly message: string
}

type Look = (policy: RulePolicy, others: readonly RulePolicy[]) => readonly [code: string, message: string] | undefined

/** Everything in policies that is likely to surprise, in their order. */
export function trapsIn(policies: readonly RulePolicy[]): readonly Trap[] {
  return policies.flatMap((policy) =>
    LOOKS.flatMap((look) => {
      const found = look(policy, policies)
      return found ? [{ policy: policy.name, code: found[0], message: found[1] }] : []
    }),
  )
}

const keysOf = ({ key }: RulePolicy): readonly string[] => [key].flat()
const costOf = ({ cost, defaultCost = 1 }: RulePolicy): number => (typeof cost === 'number' ? cost : defaultCost)
const mostOf = (quota: Quota): number => (quota.kernel === 'bucket' ? quota.limit + quota.overdraft : quota.limit)
const WRITTEN = /^(header|query|cookie):/

const LOOKS: readonly Look[] = [
  (policy) => {
    const keys = keysOf(policy)
    const written = keys.filter((key) => WRITTEN.test(key))
    if (written.length === 0 || keys.some((key) => key === 'ip' || key.startsWith('claim:'))) return undefined
    return [
      'key-trusts-client',
      `anybody writes ${written.join(' and ')}: who varies it is never limited, and those without it share one count. Count by a verified claim, or add a policy by ip.`,
    ]
  },
  ({ quota, ...policy }) => {
    const cost = costOf({ quota, ...policy })
    if (cost <= mostOf(quota)) return undefined
    return [
      'cost-above-limit',
      `a request takes ${count(cost)}, and no more than ${count(mostOf(quota))} ever fit: every one is refused.`,
    ]
  },
  ({ quota, ...policy }) => {
    const cost = costOf({ quota, ...policy })
    if (cost > mostOf(quota) || cost * 2 <= mostOf(quota) || mostOf(quota) === 1 || cost === 1) return undefined
    return ['burst-below-two', `a request takes ${count(cost)} of ${count(mostOf(quota))}: two do not fit at once.`]
  },
  ({ cost, maxCost, quota }) => {
    if (typeof cost !== 'string') return undefined
    if (maxCost === undefined)
      return [
        'cost-unbounded',
        `a client names its own cost in ${cost}, and no max_cost bounds it: one header empties the quota.`,
      ]
    if (maxCost > mostOf(quota))
      return [
        'max-cost-above-limit',
        `max_cost is ${count(maxCost)}, and no more than ${count(mostOf(quota))} ever fit: such a request is refused for good.`,
      ]
    return undefined
  },
  ({ quota }) =>
    quota.window < 1e6
      ? [
          'window-below-second',
          `it is full again after ${span(quota.window / 1000)}, and headers have whole seconds: clients are told w=1, and to wait a second.`,
        ]
      : undefined,
  ({ quota, mode }) =>
    quota.kernel === 'bucket' && quota.grain?.amount === quota.limit && mode !== 'shadow' && quota.limit > 1
      ? [
          'window-edge',
          `up to ${count(2 * quota.limit)} pass around the edge of two windows, and all clients are refilled at the same moment. A token_bucket has no edge.`,
        ]
      : undefined,
  ({ quota, mode }) =>
    quota.kernel === 'sliding-window' && quota.fixed && mode !== 'shadow' && quota.limit > 1
      ? [
          'window-edge',
          `up to ${count(2 * quota.limit)} pass around the end of a key's window. A token_bucket has no such end.`,
        ]
      : undefined,
  ({ quota }) =>
    quota.kernel === 'sliding-log' && quota.limit > 1000
      ? [
          'log-long',
          `each key remembers up to ${count(quota.limit)} moments, read at every request. sliding_window or token_bucket keep a number or three.`,
        ]
      : undefined,
  (policy) =>
    keysOf(policy).includes('path')
      ? [
          'key-by-path',
          'a path is whatever a client asks for, /a/1 and /a/2 are two: made-up paths are never limited. Match a path, and count by ip.',
        ]
      : undefined,
  (policy, others) => {
    const stricter = others.find((other) => other !== policy && implies(other, policy))
    return stricter ? ['never-reached', `"${stricter.name}" refuses whatever it would: it never bites.`] : undefined
  },
  ({ mode }) => (mode === 'shadow' ? ['shadow', 'it only watches: nothing is refused by it.'] : undefined),
]

/** Whether what one policy lets through the other always does too: buckets that count the same requests for the same keys. */
function implies(strict: RulePolicy, loose: RulePolicy): boolean {
  const [a, b] = [strict.quota, loose.quota]
  if (a.kernel !== 'bucket' || b.kernel !== 'bucket' || a.grain || b.grain || a.overdraft > b.overdraft) return false
  if (strict.mode === 'shadow' || loose.mode === 'shadow') return false
  const counts = ({ key, match, cost, defaultCost, maxCost }: RulePolicy): string =>
    JSON.stringify([key, match, cost ?? 1, defaultCost ?? 1, maxCost])
  const slower = a.unit / a.scale - b.unit / b.scale
  return counts(strict) === counts(loose) && a.limit <= b.limit && slower >= 0 && (a.limit < b.limit || slower > 0)
}
