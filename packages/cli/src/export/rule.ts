import { isDeepStrictEqual } from 'node:util'
import type { BucketQuota, Micros, PenaltyQuota, Quota, ZonedPeriods } from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { policiesFrom, type RuleMatch, type RulePolicy } from '@spillway/core/rules'
import { EXIT } from '../exit.ts'
import { durationOf } from '../format.ts'
import { UserError } from '../io.ts'

/** A policy of code: as `RulePolicy`, but any part may be a function, and a name or a key may be missing. */
export type CodePolicy = { readonly [Part in keyof RulePolicy]?: RulePolicy[Part] | (() => unknown) | undefined }

type Config = Readonly<Record<string, string | number | boolean>>

/** The parts that are only in code, and what to write so that the policy can be replayed. */
const REMEDIES: Readonly<Record<string, string>> = {
  quota: 'name the quotas of the tiers as policies with `tiers` and `match`',
  key: "use a selector such as 'header:x-api-key' or 'claim:user'",
  match: 'use an object such as { path: "/api/*" }',
  cost: "use a number or a selector such as 'header:x-cost'",
  countIf: 'use a list of statuses such as [401]',
}

/** A rule of JSON; it has more parts. */
export interface Rule {
  readonly name: string
  readonly match?: object
  readonly spill?: string
  readonly tiers?: string
}

/** A policy as a rule of JSON. Throws a UserError if a part of it is only in code, or has no form in JSON. */
export function ruleFrom(policy: CodePolicy, name: string): Rule {
  for (const [part, remedy] of Object.entries(REMEDIES)) {
    if (typeof policy[part as keyof CodePolicy] === 'function') {
      throw new UserError(
        `policy ${JSON.stringify(name)} has a function as its ${part}, which JSON cannot hold: ${remedy}.`,
        EXIT.failure,
      )
    }
  }
  const {
    quota,
    key = 'ip',
    match,
    mode,
    blocks,
    spill,
    tiers,
    cost,
    defaultCost,
    maxCost,
    countIf,
  } = policy as Partial<RulePolicy>
  const [algorithm, config] = configOf(quota as Quota)
  const costs = {
    ...(typeof cost === 'number' ? { fixed_cost: cost } : { cost_source: cost }),
    default_cost: defaultCost,
    max_cost: maxCost,
  }
  const rule = defined({
    name,
    limit_keys: [key].flat(),
    algorithm,
    algorithm_config: defined({ ...config, ...costs }),
    match: match && matchesOf(match, name),
    mode,
    count_if: countIf,
    blocks,
    spill,
    tiers,
  }) as unknown as Rule
  if (isDeepStrictEqual(policiesFrom([withoutOthers(rule)], { inFlight })[0]?.quota, quota)) return rule
  throw new UserError(`policy ${JSON.stringify(name)} has a quota that JSON cannot hold exactly.`, EXIT.failure)
}

/** A rule that needs no other rule, to be read alone. */
const withoutOthers = (rule: Rule): object => defined({ ...rule, spill: undefined, tiers: undefined })

const defined = (parts: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))

function matchesOf(match: NonNullable<RulePolicy['match']>, policy: string): object {
  return Array.isArray(match)
    ? match.map((each: RuleMatch) => matchOf(each, policy))
    : matchOf(match as RuleMatch, policy)
}

function matchOf({ method, path, header = {}, claim = {}, ...others }: RuleMatch, policy: string): object {
  const [other] = Object.keys(defined(others))
  // Without it, the rule would apply to more requests than the policy.
  if (other !== undefined) {
    throw new UserError(
      `policy ${JSON.stringify(policy)} has match.${other}, which JSON cannot hold: match by method, path, header or claim.`,
      EXIT.failure,
    )
  }
  return defined({
    method,
    path,
    ...Object.fromEntries(Object.entries(header).map(([name, value]) => [`header:${name}`, value])),
    ...Object.fromEntries(Object.entries(claim).map(([name, value]) => [`claim:${name}`, value])),
  })
}

function configOf(quota: Quota): readonly [algorithm: string, config: Config] {
  const window = (): Config => ({ limit: quota.limit, window: duration(quota.window) })
  switch (quota.kernel) {
    case 'sliding-log':
      return ['sliding_log', window()]
    case 'sliding-window':
      if (quota.calendar !== null) return ['calendar_window', calendarConfig(quota.limit, quota.calendar)]
      if (quota.offset !== null) return ['fixed_window', clockWindow(quota.limit, quota.window, quota.offset)]
      return quota.fixed ? ['fixed_window', { ...window(), align: 'first' }] : ['sliding_window', window()]
    case 'warm-up':
      return [
        'warming_up',
        { ...rateOf(quota, quota.burst), burst: quota.burst, warm_up_period: duration(2 * quota.half) },
      ]
    case 'penalty':
      return ['penalty', penaltyConfig(quota)]
    case 'slots':
      return ['in_flight', { limit: quota.limit, ttl: duration(quota.window) }]
    default:
      return quota.schedule ? scheduledConfig(quota, quota.schedule) : continuousConfig(quota)
  }
}

const calendarConfig = (limit: number, { unit, timeZone, firstDay }: ZonedPeriods): Config => ({
  limit,
  unit,
  time_zone: timeZone,
  ...(firstDay !== 1 && { first_day: firstDay }),
})

function penaltyConfig({ limit, window, block, grow, max, forgive, extend }: PenaltyQuota): Config {
  return {
    after: limit,
    within: duration(window),
    block: duration(block),
    ...(grow > 1 && { grow, max: duration(max), forgive: duration(forgive) }),
    ...(extend && { extend }),
  }
}

function continuousConfig(quota: BucketQuota): readonly [string, Config] {
  const { limit, immediateUnits, overdraft, start, ticksPerUnit, scale } = quota
  if (immediateUnits < limit) return ['leaky_bucket', { ...rateOf(quota, 1), queue: limit - immediateUnits }]
  const lacking = start === null ? 0 : (start.lacking * scale - start.early) / ticksPerUnit
  return [
    'token_bucket',
    {
      ...rateOf(quota, limit),
      burst: limit,
      ...(overdraft > 0 && { overdraft }),
      ...(start && { initial: Math.round(limit - lacking), keep_full: duration(start.keep) }),
    },
  ]
}

function scheduledConfig(
  { limit, overdraft, start }: BucketQuota,
  { interval, amount, offset }: NonNullable<BucketQuota['schedule']>,
): readonly [string, Config] {
  if (amount === limit && overdraft === 0 && start === null)
    return ['fixed_window', clockWindow(limit, interval, offset)]
  const lacking = start === null ? 0 : start.lacking
  return [
    'token_bucket',
    {
      limit: amount,
      per: duration(interval),
      refill: duration(interval),
      burst: limit,
      ...(overdraft > 0 && { overdraft }),
      ...(start && { initial: limit - lacking, keep_full: duration(start.keep) }),
    },
  ]
}

const clockWindow = (limit: number, window: Micros, offset: Micros): Config => ({
  limit,
  window: duration(window),
  ...(offset !== 0 && { offset: duration(window - offset) }),
})

const PERIODS: readonly Micros[] = [1e6, 60e6, 3_600e6, 86_400e6]

/** A rate as units per period: the period in which `preferred` units refill, or the shortest with whole units. */
function rateOf({ ticksPerUnit, scale }: Pick<BucketQuota, 'ticksPerUnit' | 'scale'>, preferred: number): Config {
  const unitsIn = (period: Micros): number => (period * scale) / ticksPerUnit
  const period =
    PERIODS.find((each) => unitsIn(each) === preferred) ?? PERIODS.find((each) => Number.isInteger(unitsIn(each)))
  return period === undefined
    ? { limit: scale, per: duration(ticksPerUnit) }
    : { limit: unitsIn(period), per: duration(period) }
}

const duration = (micros: Micros): string => durationOf(micros / 1000)
