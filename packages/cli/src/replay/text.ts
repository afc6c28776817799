import { columns, count, moment, percent, plain, span } from '../format.ts'
import type { Colour } from '../io.ts'
import type { KeyResult, PlanResult, PolicyResult, Result } from './result.ts'

type Paint = (colour: Colour, text: string) => string

/** The number of keys of each kind that are shown. */
const SHOWN = 8

/** A replay as text for a terminal. */
export function textOf(result: Result, paint: Paint): string {
  const { lines, requests, from, to, bad, late, notes, plans } = result
  const head = [
    `${paint('bold', `${count(requests)} requests`)} in ${count(lines)} lines${from && to ? `, ${moment(from)} to ${moment(to)} UTC` : ''}`,
  ]
  if (bad.count > 0) {
    head.push(paint('yellow', `${count(bad.count)} ${bad.count === 1 ? 'line' : 'lines'} could not be read:`))
    for (const { file, line, reason, text } of bad.first) head.push(`  ${file}:${line} ${reason}: ${plain(text)}`)
    if (bad.count > bad.first.length) head.push(`  … and ${count(bad.count - bad.first.length)} more`)
  }
  if (late.count > 0) {
    head.push(
      `${count(late.count)} ${late.count === 1 ? 'request comes' : 'requests come'} late, by up to ${span(late.mostMs)}: each counts when it is logged.`,
    )
  }
  for (const note of notes) head.push(paint('yellow', note))
  return `${[head.join('\n'), ...plans.map((plan) => planText(plan, paint))].join('\n\n')}\n`
}

function planText(plan: PlanResult, paint: Paint): string {
  const { name, counted, allowed, denied, uncounted, timeline, policies } = plan
  const bar = sparkline(timeline.allowed, timeline.denied)
  const head = [
    `${paint('bold', name)}  ${paint('green', `${count(allowed)} allowed`)}, ${paint(denied > 0 ? 'red' : 'green', `${count(denied)} denied`)} (${percent(denied, counted)})${uncounted > 0 ? `, ${count(uncounted)} not counted` : ''}`,
    ...(denied > 0 ? [`  ${paint('dim', 'denied over time')} ${paint('red', bar)}`] : []),
  ]
  return [...head, ...policies.map((policy) => policyText(policy, paint))].join('\n')
}

function policyText(policy: PolicyResult, paint: Paint): string {
  const { name, sentence, mode, requests, denied, delayed, longestDelayMs } = policy
  const verb = mode === 'shadow' ? 'would deny' : 'denies'
  const rows = [
    '',
    `  ${paint('cyan', name)}  ${sentence}`,
    `  ${verb} ${count(denied)} of ${count(requests)} (${percent(denied, requests)}), ${keysText(policy)}${delayed > 0 ? `, ${count(delayed)} are delayed, up to ${span(longestDelayMs)}` : ''}`,
  ]
  if (policy.deniedKeys.length > 0) rows.push('', indented(deniedTable(policy.deniedKeys.slice(0, SHOWN), paint)))
  if (policy.closest.length > 0) rows.push('', indented(closestTable(policy, paint)))
  return rows.join('\n')
}

/** The denied keys out of all: `2 of 3 keys`. */
export function keysText({ keys, keysDenied, exact }: PolicyResult): string {
  const all = `${count(keys)} ${keys === 1 ? 'key' : 'keys'}`
  return exact ? `${count(keysDenied)} of ${all}` : `at least ${count(keysDenied)} of about ${all}`
}

const deniedTable = (keys: readonly KeyResult[], paint: Paint): string =>
  columns(
    ['denied most', 'denied', 'of', 'share', 'first (UTC)', 'last', 'longest wait'],
    keys.map(({ key, denied, requests, firstDeniedAt, lastDeniedAt, longestRetryMs }) => [
      plain(key, 40) || '(none)',
      count(denied),
      count(requests),
      percent(denied, requests),
      moment(firstDeniedAt ?? ''),
      moment(lastDeniedAt ?? ''),
      span(longestRetryMs),
    ]),
    (text) => paint('dim', text),
  )

const closestTable = ({ closest, limit }: PolicyResult, paint: Paint): string =>
  columns(
    ['closest to a denial', 'remaining', 'of', 'requests', 'when (UTC)'],
    closest
      .slice(0, SHOWN)
      .map(({ key, leastRemaining, requests, leastAt }) => [
        plain(key, 40) || '(none)',
        count(leastRemaining),
        count(limit),
        count(requests),
        moment(leastAt),
      ]),
    (text) => paint('dim', text),
  )

const indented = (text: string): string => text.replace(/^/gm, '    ')

const BARS = ' ▁▂▃▄▅▆▇█'
const WIDTH = 60

/** The denied share over time in 60 columns; any denial is visible. */
function sparkline(allowed: readonly number[], denied: readonly number[]): string {
  const width = Math.min(allowed.length, WIDTH)
  return Array.from({ length: width }, (_, i) => {
    const [from, to] = [Math.floor((i * allowed.length) / width), Math.floor(((i + 1) * allowed.length) / width)]
    const no = sum(denied.slice(from, to))
    const all = no + sum(allowed.slice(from, to))
    return BARS[no === 0 ? 0 : Math.max(1, Math.round((no / all) * (BARS.length - 1)))]
  }).join('')
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
