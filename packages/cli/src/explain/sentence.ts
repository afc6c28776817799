import type { BucketQuota, PenaltyQuota, Quota, WarmUpQuota, ZonedPeriods } from '@spillway/core'
import type { RuleMatch, RulePolicy } from '@spillway/core/rules'
import { count, each, span } from '../format.ts'

/** A policy as a sentence: its key, its quota and its conditions. */
export function sentenceOf(policy: RulePolicy): string {
  const spill = policy.spill === undefined ? '' : ` If it is empty, ${JSON.stringify(policy.spill)} is drawn upon.`
  const tier =
    policy.tiers === undefined ? '' : ` Of the tiers ${JSON.stringify(policy.tiers)}, the first that matches counts.`
  const counted =
    policy.countIf === undefined ? '' : ` It counts responses with status ${policy.countIf.join(' or ')} only.`
  const blocks = policy.blocks === true ? ' It can be blocked by hand.' : ''
  const sentence = `${whom(policy.key)} ${rateOf(policy)}${forWhich(policy.match)}.${counted}${spill}${tier}${blocks}`
  return policy.mode === 'shadow' ? `${sentence} It never denies (shadow mode).` : sentence
}

function whom(key: RulePolicy['key']): string {
  const keys = [key].flat()
  return `Each ${keys.map(nameOf).join(' and ')}`
}

function nameOf(key: string): string {
  const colon = key.indexOf(':')
  const name = key.slice(colon + 1)
  switch (colon < 0 ? key : key.slice(0, colon)) {
    case 'ip':
      return 'client address'
    case 'header':
      return `value of the header ${name}`
    case 'query':
      return `value of the query parameter ${name}`
    case 'cookie':
      return `value of the cookie ${name}`
    case 'claim':
      return `verified claim ${name}`
    default:
      return key
  }
}

function rateOf(policy: RulePolicy): string {
  const { quota } = policy
  const what = unitOf(policy)
  if (quota.limit === 0) return 'may make no requests'
  return `may ${quotaText(quota, what)}${costText(policy)}`
}

const unitOf = ({ cost }: RulePolicy): string => (cost === undefined || cost === 1 ? 'request' : 'unit')

const some = (n: number, what: string): string => `${count(n)} ${what}${n === 1 ? '' : 's'}`

function quotaText(quota: Quota, what: string): string {
  const { limit } = quota
  const window = each(quota.window / 1000)
  if (quota.kernel === 'slots') return `have ${some(limit, what)} in flight at once`
  if (quota.kernel === 'sliding-log') return `make ${some(limit, what)} in any ${window}, exactly`
  if (quota.kernel === 'sliding-window' && quota.calendar !== null)
    return `make ${some(limit, what)} in each ${periodText(quota.calendar)}`
  if (quota.kernel === 'sliding-window' && quota.offset !== null)
    return `make ${some(limit, what)} in each ${window} of the clock`
  if (quota.kernel === 'sliding-window' && quota.fixed)
    return `make ${some(limit, what)} in each ${window} from the first of them`
  if (quota.kernel === 'sliding-window') return `make about ${some(limit, what)} in any ${window}`
  if (quota.kernel === 'warm-up') return warmUpText(quota, what)
  if (quota.kernel === 'penalty') return penaltyText(quota, what)
  return bucketText(quota, what)
}

function periodText({ unit, timeZone, firstDay }: ZonedPeriods): string {
  const day = firstDay === 1 ? '' : ` from ${unit === 'week' ? WEEKDAYS[firstDay] : `day ${firstDay}`}`
  return `${unit} of the calendar in ${timeZone}${day}`
}

const WEEKDAYS = ['', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

function warmUpText({ burst, ticksPerUnit, scale, half }: WarmUpQuota, what: string): string {
  const most = what === 'unit' && burst > 1 ? `, up to ${count(burst)} per request` : ''
  const period = span((2 * half) / 1000)
  return `make ${what}s evenly spaced, ${paceOf(ticksPerUnit / scale)}${most}, at a third of that rate after idle time, rising for ${period}`
}

function penaltyText({ limit, window, block, grow, max, forgive, extend }: PenaltyQuota, what: string): string {
  const longer =
    grow === 1
      ? ''
      : `, each time ${count(grow)} times as long, up to ${span(max / 1000)}, until ${span(forgive / 1000)} without a block`
  const again = extend ? ', from its last request' : ''
  return `make ${some(limit, what)} within ${span(window / 1000)}, and is then blocked for ${span(block / 1000)}${again}${longer}`
}

function bucketText(quota: BucketQuota, what: string): string {
  const { limit, immediateUnits, ticksPerUnit, scale, schedule, overdraft, start } = quota
  const initial =
    start === null ? '' : `, starting with ${count(limit - (start.lacking * scale - start.early) / ticksPerUnit)}`
  const debt = `${initial}${overdraft === 0 ? '' : `, and owe up to ${some(overdraft, 'unit')}`}`
  if (schedule) {
    const every = each(schedule.interval / 1000)
    if (schedule.amount === limit) return `make ${some(limit, what)} in each ${every} of the clock${debt}`
    return `make ${some(limit, what)} at once, and ${count(schedule.amount)} more every ${every}${debt}`
  }
  const pace = paceOf(ticksPerUnit / scale)
  if (immediateUnits < limit) return `make ${what}s evenly, ${pace}, and queue ${some(limit - immediateUnits, what)}`
  return limit === 1 ? `make a ${what} ${pace}${debt}` : `make ${some(limit, what)} at once, and then ${pace}${debt}`
}

/** The refill rate, per the largest period that has a whole number of units: `60 a minute`. */
function paceOf(unit: number): string {
  for (const [micros, name] of [
    [1e6, 'second'],
    [60e6, 'minute'],
    [3_600e6, 'hour'],
    [86_400e6, 'day'],
  ] as const) {
    const times = Math.round(micros / unit)
    if (times >= 1 && Math.abs(micros / times / unit - 1) < 1e-12)
      return `${count(times)} ${name === 'hour' ? 'an' : 'a'} ${name}`
  }
  return `one every ${span(unit / 1000)}`
}

function costText({ cost, defaultCost, maxCost }: RulePolicy): string {
  if (cost === undefined || cost === 1) return ''
  if (typeof cost === 'number') return `, where a request costs ${count(Math.min(cost, maxCost ?? cost))}`
  const [kind, name] = cost.split(':')
  const place = kind === 'query' ? `query parameter ${name}` : `header ${name}`
  const most = maxCost === undefined ? '' : `, ${count(maxCost)} at most`
  return `, where a request costs the number in its ${place}${most}, or else ${count(defaultCost ?? 1)}`
}

function forWhich(match: RulePolicy['match']): string {
  const all = [match ?? []].flat().map(conditions)
  return all.length === 0 || all.includes('') ? '' : `, counting requests ${all.join(', or ')}`
}

function conditions(match: RuleMatch): string {
  const list = (value: string | readonly string[]): string => [value].flat().join(' or ')
  const parts = [
    match.method === undefined ? '' : `by ${list(match.method)}`,
    match.path === undefined ? '' : `to ${list(match.path)}`,
    ...Object.entries(match.header ?? {}).map(
      ([name, value]) => `with header ${name}${value === true ? '' : ` of ${JSON.stringify(value)}`}`,
    ),
    ...Object.entries(match.claim ?? {}).map(([name, value]) => `with claim ${name} of ${JSON.stringify(value)}`),
  ].filter((part) => part !== '')
  return parts.join(' ')
}
