import { columns, count, moment, percent, plain, span } from '../format.ts'
import type { Colour } from '../io.ts'
import type { KeyResult, PlanResult, PolicyResult, Result } from './result.ts'

type Paint = (colour: Colour, text: string) => string

/** The number of keys of each kind that are shown. */
const SHOWN = 8

/** A replay as text for a terminal. */
export function textOf(result: Result, paint: Paint): string {
  const { lines, requests, from, to, bad, late, notes, plans } = result
  const told = [
    `${paint('bold', `${count(requests)} requests`)} in ${count(lines)} lines${from && to ? `, ${moment(from)} to ${moment(to)} UTC` : ''}`,
  ]
  if (bad.count > 0) {
    told.push(paint('yellow', `${count(bad.count)} ${bad.count === 1 ? 'line' : 'lines'} could not be read:`))
    for (const { file, line, reason, text } of bad.first) told.push(`  ${file}:${line} ${reason}: ${plain(text)}`)
    if (bad.count > bad.first.length) told.push(`  … and ${count(bad.count - bad.first.length)} more`)
  }
  if (late.count > 0) {
    told.push(
      `${count(late.count)} ${late.count === 1 ? 'request comes' : 'requests come'} late, by up to ${span(late.mostMs)}: each counts when it is logged.`,
    )
  }
  for (const note of notes) told.push(paint('yellow', note))
  return `${[told.join('\n'), ...plans.map((plan) => planText(plan, paint))].join('\n\n')}\n`
}

function planText(plan: PlanResult, paint: Paint): string {
  const { name, counted, admitted, refused, uncounted, timeline, policies } = plan
  const bar = sparkline(timeline.admitted, timeline.refused)
  const head = [
    `${paint('bold', name)}  ${paint('green', `${count(admitted)} allowed`)}, ${paint(refused > 0 ? 'red' : 'green', `${count(refused)} denied`)} (${percent(refused, counted)})${uncounted > 0 ? `, ${count(uncounted)} not counted` : ''}`,
    ...(refused > 0 ? [`  ${paint('dim', 'denied over time')} ${paint('red', bar)}`] : []),
  ]
  return [...head, ...policies.map((policy) => policyText(policy, paint))].join('\n')
}

function policyText(policy: PolicyResult, paint: Paint): string {
  const { name, sentence, mode, asked, refused, delayed, longestDelayMs } = policy
  const verb = mode === 'shadow' ? 'would deny' : 'denies'
  const rows = [
    '',
    `  ${paint('cyan', name)}  ${sentence}`,
    `  ${verb} ${count(refused)} of ${count(asked)} (${percent(refused, asked)}), ${keysText(policy)}${delayed > 0 ? `, ${count(delayed)} are delayed, up to ${span(longestDelayMs)}` : ''}`,
  ]
  if (policy.refusedKeys.length > 0) rows.push('', indented(refusedTable(policy.refusedKeys.slice(0, SHOWN), paint)))
  if (policy.closest.length > 0) rows.push('', indented(closestTable(policy, paint)))
  return rows.join('\n')
}

/** The denied keys out of all: `2 of 3 keys`. */
export function keysText({ keys, keysRefused, exact }: PolicyResult): string {
  const all = `${count(keys)} ${keys === 1 ? 'key' : 'keys'}`
  return exact ? `${count(keysRefused)} of ${all}` : `at least ${count(keysRefused)} of about ${all}`
}

const refusedTable = (keys: readonly KeyResult[], paint: Paint): string =>
  columns(
    ['denied most', 'denied', 'of', 'share', 'first (UTC)', 'last', 'longest wait'],
    keys.map(({ key, refused, asked, firstRefusedAt, lastRefusedAt, longestRetryMs }) => [
      plain(key, 40) || '(none)',
      count(refused),
      count(asked),
      percent(refused, asked),
      moment(firstRefusedAt ?? ''),
      moment(lastRefusedAt ?? ''),
      span(longestRetryMs),
    ]),
    (text) => paint('dim', text),
  )

const closestTable = ({ closest, limit }: PolicyResult, paint: Paint): string =>
  columns(
    ['closest to a denial', 'remaining', 'of', 'requests', 'when (UTC)'],
    closest
      .slice(0, SHOWN)
      .map(({ key, leastRemaining, asked, leastAt }) => [
        plain(key, 40) || '(none)',
        count(leastRemaining),
        count(limit),
        count(asked),
        moment(leastAt),
      ]),
    (text) => paint('dim', text),
  )

const indented = (text: string): string => text.replace(/^/gm, '    ')

const BARS = ' ▁▂▃▄▅▆▇█'
const WIDTH = 60

/** The denied share over time in 60 columns; any denial is visible. */
function sparkline(admitted: readonly number[], refused: readonly number[]): string {
  const width = Math.min(admitted.length, WIDTH)
  return Array.from({ length: width }, (_, i) => {
    const [from, to] = [Math.floor((i * admitted.length) / width), Math.floor(((i + 1) * admitted.length) / width)]
    const no = sum(refused.slice(from, to))
    const all = no + sum(admitted.slice(from, to))
    return BARS[no === 0 ? 0 : Math.max(1, Math.round((no / all) * (BARS.length - 1)))]
  }).join('')
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
