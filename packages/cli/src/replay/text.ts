import { columns, count, durationOf, each, moment, percent, plain, shortMoment, span, wrapped } from '../format.ts'
import type { Colour } from '../io.ts'
import type { AtLimit } from '../suggest/what-if.ts'
import type { BreakdownResult, Share } from './breakdown.ts'
import { concurrencyText } from './concurrency-text.ts'
import type { KeyResult, PlanResult, PolicyResult, Result } from './result.ts'

/** How a result is printed: in colours, in so many columns, with times as short as the span of the log allows. */
interface Style {
  readonly paint: (colour: Colour, text: string) => string
  readonly width: number
  readonly time: (iso: string | null) => string
}

/** The number of keys of each kind that are shown. */
const SHOWN = 8
const INDENT = '    '

/** A replay as text for a terminal of `width` columns. */
export function textOf(result: Result, paint: Style['paint'], width: number): string {
  const { lines, requests, formats, from, to, bad, skipped, late, notes, plans } = result
  const style: Style = { paint, width, time: (iso) => shortMoment(iso ?? '', from ?? '', to ?? '') }
  const head = [`${paint('bold', `${count(requests)} requests`)} in ${count(lines)} lines${formatsText(formats)}`]
  if (from && to) head.push(`${moment(from)} to ${moment(to)} UTC`)
  if (bad.count > 0) {
    head.push(paint('yellow', `${count(bad.count)} ${bad.count === 1 ? 'line' : 'lines'} could not be read:`))
    for (const { file, line, reason, text } of bad.first) {
      head.push(wrapped(`${file}:${line} ${reason}: ${plain(text)}`, width, '  '))
    }
    if (bad.count > bad.first.length) head.push(`  … and ${count(bad.count - bad.first.length)} more`)
  }
  if (skipped > 0) head.push(skippedText(skipped))
  if (late.count > 0) {
    head.push(
      wrapped(
        `${count(late.count)} ${late.count === 1 ? 'request comes' : 'requests come'} late, by up to ${span(late.mostMs)}: each counts when it is logged.`,
        width,
      ),
    )
  }
  for (const note of notes) head.push(paint('yellow', wrapped(note, width)))
  return `${[head.join('\n'), ...plans.map((plan) => planText(plan, style))].join('\n\n')}\n`
}

/** The lines that are no requests, of which there are some. */
export const skippedText = (skipped: number): string =>
  skipped === 1 ? '1 line is no request' : `${count(skipped)} lines are no requests`

/** The formats that the lines had, with their counts if there are several. */
export function formatsText(formats: Result['formats']): string {
  const [first, ...others] = Object.entries(formats)
  if (first === undefined) return ''
  const each = others.length === 0 ? first[0] : [first, ...others].map(([name, n]) => `${name} ${count(n)}`).join(', ')
  return `, format: ${each}`
}

function planText(plan: PlanResult, style: Style): string {
  const { name, counted, allowed, denied, uncounted, timeline, policies } = plan
  const { paint } = style
  const bar = sparkline(timeline.allowed, timeline.denied, Math.min(style.width - 20, 60))
  const head = [
    `${paint('bold', name)}  ${paint('green', `${count(allowed)} allowed`)}, ${paint(denied > 0 ? 'red' : 'green', `${count(denied)} denied`)} (${percent(denied, counted)})${uncounted > 0 ? `, ${count(uncounted)} not counted` : ''}`,
    ...(denied > 0 ? [`  ${paint('dim', 'denied over time')} ${paint('red', bar)}`] : []),
  ]
  return [...head, ...policies.map((policy) => policyText(policy, style))].join('\n')
}

function policyText(policy: PolicyResult, style: Style): string {
  const { name, sentence, mode, requests, denied, delayed, longestDelayMs, deniedKeys, closest, whatIf } = policy
  const { paint, width } = style
  const verb = mode === 'shadow' ? 'would deny' : 'denies'
  const summary = `${verb} ${count(denied)} of ${count(requests)} (${percent(denied, requests)}), ${keysText(policy)}${delayed > 0 ? `, ${count(delayed)} are delayed, up to ${span(longestDelayMs)}` : ''}`
  const rows = [
    '',
    wrapped(`${name}  ${sentence}`, width, '  ').replace(name, paint('cyan', name)),
    wrapped(summary, width, '  '),
  ]
  if (deniedKeys.length > 0) {
    rows.push('', indented(deniedTable(deniedKeys.slice(0, SHOWN), style)), '', breakdownText(policy.breakdown, style))
  }
  if (closest.length > 0) rows.push('', indented(closestTable(policy, style)))
  if (policy.concurrency) {
    rows.push(
      '',
      concurrencyText(policy.concurrency, width, (text) => paint('dim', text)),
    )
  }
  if (whatIf && whatIf.suggested.limit > policy.limit) {
    const { suggested, windowMs } = whatIf
    rows.push(
      '',
      wrapped(`suggested: ${suggestionText(suggested, windowMs, requests)}`, width, '  '),
      `${INDENT}${configText(suggested, windowMs)}`,
    )
  }
  return rows.join('\n')
}

/** Another limit, and what it would have denied. */
export const suggestionText = ({ limit, denied }: AtLimit, windowMs: number, requests: number): string =>
  `${count(limit)} per ${each(windowMs)}, which denies ${count(denied)} (${percent(denied, requests)})`

/** The same as the `algorithm_config` of a rule. */
export const configText = ({ limit }: AtLimit, windowMs: number): string =>
  `{ "limit": ${limit}, "per": "${durationOf(windowMs)}", "burst": ${limit} }`

/** The denied keys out of all: `2 of 3 keys`. */
export function keysText({ keys, keysDenied, exact }: PolicyResult): string {
  const all = `${count(keys)} ${keys === 1 ? 'key' : 'keys'}`
  return exact ? `${count(keysDenied)} of ${all}` : `at least ${count(keysDenied)} of about ${all}`
}

const deniedTable = (keys: readonly KeyResult[], { paint, width, time }: Style): string =>
  columns(
    ['denied most', 'denied', 'of', 'share', 'first (UTC)', 'last', 'wait'],
    keys.map(({ key, denied, requests, firstDeniedAt, lastDeniedAt, longestRetryMs }) => [
      plain(key, 40) || '(none)',
      count(denied),
      count(requests),
      percent(denied, requests),
      time(firstDeniedAt),
      time(lastDeniedAt),
      span(longestRetryMs),
    ]),
    (text) => paint('dim', text),
    width - INDENT.length,
  )

function breakdownText(breakdown: BreakdownResult, { paint, width }: Style): string {
  const parts: readonly (keyof BreakdownResult)[] = ['path', 'method', 'status', 'hour']
  return parts
    .map((part) => `${INDENT}${paint('dim', `by ${part}`.padEnd(10))} ${sharesText(breakdown[part], width - 15)}`)
    .join('\n')
}

/** As many values as fit into a line. */
function sharesText(shares: readonly Share[], width: number): string {
  const texts = shares.map(({ value, denied }) => `${plain(value, 30)} ${count(denied)}`)
  let line = texts[0] ?? ''
  for (const text of texts.slice(1)) {
    if (line.length + 2 + text.length > width) return line
    line += `, ${text}`
  }
  return line
}

const closestTable = ({ closest, limit }: PolicyResult, { paint, width, time }: Style): string =>
  columns(
    ['closest to a denial', 'remaining', 'of', 'requests', 'when (UTC)'],
    closest
      .slice(0, SHOWN)
      .map(({ key, leastRemaining, requests, leastAt }) => [
        plain(key, 40) || '(none)',
        count(leastRemaining),
        count(limit),
        count(requests),
        time(leastAt),
      ]),
    (text) => paint('dim', text),
    width - INDENT.length,
  )

const indented = (text: string): string => text.replace(/^/gm, INDENT)

const BARS = ' ▁▂▃▄▅▆▇█'

/** The denied share over time in at most `columns` columns; any denial is visible. */
function sparkline(allowed: readonly number[], denied: readonly number[], columns: number): string {
  const width = Math.min(allowed.length, columns)
  return Array.from({ length: width }, (_, i) => {
    const [from, to] = [Math.floor((i * allowed.length) / width), Math.floor(((i + 1) * allowed.length) / width)]
    const no = sum(denied.slice(from, to))
    const all = no + sum(allowed.slice(from, to))
    return BARS[no === 0 ? 0 : Math.max(1, Math.round((no / all) * (BARS.length - 1)))]
  }).join('')
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
