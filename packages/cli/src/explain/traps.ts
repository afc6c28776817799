import type { Quota } from '@spillway/core'
import { maxUnits } from '@spillway/core/internal'
import type { RulePolicy } from '@spillway/core/rules'
import { count, span } from '../format.ts'

/** A valid part of a policy that is likely a mistake. */
export interface Trap {
  readonly policy: string
  /** The stable identifier of the trap. */
  readonly code: string
  readonly message: string
}

type Look = (policy: RulePolicy, others: readonly RulePolicy[]) => readonly [code: string, message: string] | undefined

/** The traps in policies, in their order. */
export function trapsIn(policies: readonly RulePolicy[]): readonly Trap[] {
  return policies.flatMap((policy) =>
    LOOKS.flatMap((look) => {
      const found = look(policy, policies)
      return found ? [{ policy: policy.name, code: found[0], message: found[1] }] : []
    }),
  )
}

const keysOf = ({ key }: RulePolicy): readonly string[] => [key].flat()
const costOf = ({ cost, defaultCost = 1, maxCost = Infinity }: RulePolicy): number =>
  typeof cost === 'number' ? cost : Math.min(defaultCost, maxCost)
const WRITTEN = /^(header|query|cookie):/

const isClockWindow = (quota: Quota): boolean =>
  quota.kernel === 'bucket'
    ? quota.schedule?.amount === quota.limit
    : quota.kernel === 'sliding-window' && quota.offset !== null
const isKeyWindow = (quota: Quota): boolean =>
  quota.kernel === 'sliding-window' && quota.fixed && quota.calendar === null && quota.offset === null

const LOOKS: readonly Look[] = [
  (policy) => {
    const keys = keysOf(policy)
    const written = keys.filter((key) => WRITTEN.test(key))
    if (written.length === 0 || keys.some((key) => key === 'ip' || key.startsWith('claim:'))) return undefined
    return [
      'key-trusts-client',
      `any client can set ${written.join(' and ')}: clients that vary it are never limited, and all clients without it share one limit. Count by a verified claim, or add a policy by ip.`,
    ]
  },
  ({ quota, ...policy }) => {
    const cost = costOf({ quota, ...policy })
    // A quota of 0 units is meant to deny.
    if (cost <= maxUnits(quota) || quota.limit === 0) return undefined
    return [
      'cost-above-limit',
      `a request costs ${count(cost)}, but the quota never allows more than ${count(maxUnits(quota))} at once: all requests are denied.`,
    ]
  },
  ({ quota, ...policy }) => {
    const cost = costOf({ quota, ...policy })
    if (cost > maxUnits(quota) || cost * 2 <= maxUnits(quota) || maxUnits(quota) === 1 || cost === 1) return undefined
    return [
      'burst-below-two',
      `a request costs ${count(cost)} of ${count(maxUnits(quota))}: two requests at once are never allowed.`,
    ]
  },
  ({ cost, maxCost, quota }) => {
    if (typeof cost !== 'string') return undefined
    if (maxCost === undefined)
      return [
        'cost-unbounded',
        `a client sets its own cost in ${cost}, without a max_cost: one request can consume the whole quota.`,
      ]
    if (maxCost > maxUnits(quota) && quota.limit > 0)
      return [
        'max-cost-above-limit',
        `max_cost is ${count(maxCost)}, but the quota never allows more than ${count(maxUnits(quota))} at once: such a request is always denied.`,
      ]
    return undefined
  },
  ({ quota }) =>
    quota.window < 1e6
      ? [
          'window-below-second',
          `it is full again after ${span(quota.window / 1000)}, but headers have whole seconds: they report w=1 and a wait of 1 second.`,
        ]
      : undefined,
  ({ quota, mode }) =>
    isClockWindow(quota) && mode !== 'shadow' && quota.limit > 1
      ? [
          'window-boundary',
          `up to ${count(2 * quota.limit)} are allowed around a window boundary, and all clients are refilled at the same time. A token_bucket has no window boundary.`,
        ]
      : undefined,
  ({ quota, mode }) =>
    isKeyWindow(quota) && mode !== 'shadow' && quota.limit > 1
      ? [
          'window-boundary',
          `up to ${count(2 * quota.limit)} are allowed around a window boundary of a key. A token_bucket has no window boundary.`,
        ]
      : undefined,
  ({ quota }) =>
    quota.kernel === 'sliding-log' && quota.limit > 1000
      ? [
          'log-long',
          `each key stores up to ${count(quota.limit)} timestamps, which every request reads. sliding_window and token_bucket store at most 3 numbers.`,
        ]
      : undefined,
  (policy) =>
    keysOf(policy).includes('path')
      ? [
          'key-by-path',
          'clients choose paths, and /a/1 and /a/2 are two keys: made-up paths are never limited. Match a path, and count by ip.',
        ]
      : undefined,
  (policy, others) => {
    const stricter = others.find((other) => other !== policy && implies(other, policy))
    return stricter
      ? ['never-reached', `"${stricter.name}" denies all requests that it would deny: it has no effect.`]
      : undefined
  },
  ({ mode }) => (mode === 'shadow' ? ['shadow', 'it is in shadow mode: it never denies a request.'] : undefined),
]

/** Whether a policy counts the responses that another one counts: all, or those with the same statuses. */
const countsAsMany = ({ countIf }: RulePolicy, other: RulePolicy): boolean =>
  countIf === undefined || JSON.stringify(countIf) === JSON.stringify(other.countIf)

/**
 * Whether the stricter policy denies every request that the other denies: token buckets that count the same requests by
 * the same keys.
 */
function implies(strict: RulePolicy, loose: RulePolicy): boolean {
  const [a, b] = [strict.quota, loose.quota]
  if (a.kernel !== 'bucket' || b.kernel !== 'bucket' || a.schedule || b.schedule || a.overdraft > b.overdraft)
    return false
  if (strict.mode === 'shadow' || loose.mode === 'shadow') return false
  // What its spill policy pays for, it does not deny; nor what it does not count.
  if (strict.spill !== undefined || !countsAsMany(strict, loose)) return false
  const counts = ({ key, match, cost, defaultCost, maxCost }: RulePolicy): string =>
    JSON.stringify([key, match, cost ?? 1, defaultCost ?? 1, maxCost])
  const slower = a.ticksPerUnit / a.scale - b.ticksPerUnit / b.scale
  return counts(strict) === counts(loose) && a.limit <= b.limit && slower >= 0 && (a.limit < b.limit || slower > 0)
}
