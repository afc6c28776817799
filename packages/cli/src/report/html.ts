import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { count, each, moment, percent, plain, span } from '../format.ts'
import type { BadLine } from '../log/cursor.ts'
import type { KeyResult, PlanResult, PolicyResult, Result } from '../replay/result.ts'
import { keysText, skippedText } from '../replay/text.ts'
import { breakdownTables } from './breakdown.ts'
import { chart } from './chart.ts'
import { concurrencyTable } from './concurrency.ts'
import { type Html, html, raw } from './markup.ts'
import { SCRIPT } from './script.ts'
import { STYLE } from './style.ts'
import { whatIfSlider } from './what-if.ts'

/** The number of denied keys in a table. */
const SHOWN = 12
const COLOURS = ['one', 'two', 'three', 'four', 'five', 'six']

/** The report of a replay: one self-contained page, which makes no requests. */
export function reportOf(result: Result): string {
  const hash = createHash('sha256').update(SCRIPT).digest('base64')
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'`
  const { files, requests, lines, from, to, plans } = result
  const title = `Replay of ${files.length === 1 ? plain(basename(files[0] as string)) : `${files.length} logs`}`
  return `<!doctype html>\n${
    html`<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${raw(STYLE)}</style></head>
<body><main><h1>${title}</h1>
<p class="soft">${count(requests)} requests in ${count(lines)} lines${from !== null && to !== null && ` · ${moment(from)} to ${moment(to)} UTC`}</p>
${notes(result)}${plans.length > 1 && comparison(plans)}${plans.map((plan, i) => planSection(plan, i))}
<footer>Made by <b>spillway replay</b>: the policies' own kernels, run on the log's own clock. Times are UTC.</footer>
</main><div id="tip" hidden></div><script>${raw(SCRIPT)}</script></body></html>
`.html
  }`
}

function notes({ bad, skipped, late, notes, doubts }: Result): Html | false {
  const items = [
    ...doubts.map((doubt) => html`<li><b>No verdict:</b> ${doubt}.</li>`),
    ...notes.map((note) => html`<li>${note}</li>`),
    ...(skipped > 0 ? [html`<li>${skippedText(skipped)}.</li>`] : []),
    ...(late.count > 0
      ? [
          html`<li>${count(late.count)} ${late.count === 1 ? 'request comes' : 'requests come'} late, by up to ${span(late.mostMs)}: each counts when it is logged.</li>`,
        ]
      : []),
    ...(bad.count > 0
      ? [
          html`<li>${bad.count === 1 ? 'A line' : `${count(bad.count)} lines`} could not be read:<ul>${bad.first.map(badLine)}${bad.count > bad.first.length && html`<li>… and ${count(bad.count - bad.first.length)} more</li>`}</ul></li>`,
        ]
      : []),
  ]
  return items.length > 0 && html`<div class="notes"><ul>${items}</ul></div>`
}

const badLine = ({ file, line, reason, text }: BadLine): Html =>
  html`<li><code>${plain(file)}:${line}</code> ${reason}: <code>${plain(text)}</code></li>`

/** Several plans on the same traffic: their totals, and their denied requests over time. */
function comparison(plans: readonly PlanResult[]): Html {
  const [{ timeline }] = plans as readonly [PlanResult]
  const colour = (i: number): string => COLOURS[i % COLOURS.length] as string
  const rows = plans.map(
    ({ name, allowed, denied, counted, uncounted, policies }, i) =>
      html`<tr><td><ul class="legend"><li class="${colour(i)}"><i></i><b>${name}</b></li></ul></td><td>${count(allowed)}</td><td>${count(denied)}</td><td>${percent(denied, counted)}</td><td>${count(uncounted)}</td><td>${span(longestWait(policies))}</td></tr>`,
  )
  return html`<h2>Side by side</h2><div class="card"><div class="scroll" tabindex="0"><table><thead><tr><th></th><th>allowed</th><th>denied</th><th>share</th><th>not counted</th><th>longest wait</th></tr></thead><tbody>${rows}</tbody></table></div>
<h4>Denied ${per(timeline.widthMs)}</h4><div class="scroll" tabindex="0">${chart({
    title: 'Denied over time, by plan',
    ...timeline,
    series: plans.map(({ name, timeline: { denied } }, i) => ({ name, colour: colour(i), values: denied })),
    kind: 'lines',
  })}</div></div>`
}

const longestWait = (policies: readonly PolicyResult[]): number =>
  Math.max(
    0,
    ...policies.flatMap(({ deniedKeys }) => deniedKeys.map(({ longestRetryMs }) => longestRetryMs ?? Infinity)),
  )

function planSection(plan: PlanResult, index: number): Html {
  const { name, document, counted, allowed, denied, uncounted, timeline, policies } = plan
  const share = timeline.denied.map((no, i) => {
    const all = no + (timeline.allowed[i] as number)
    return all === 0 ? null : Math.round((1000 * no) / all) / 10
  })
  return html`<section><h2>${name}</h2><div class="tiles">
<div class="tile yes"><b>${count(allowed)}</b>allowed</div><div class="tile ${denied > 0 && 'no'}"><b>${count(denied)}</b>denied</div>
<div class="tile"><b>${percent(denied, counted)}</b>of what it counts</div><div class="tile"><b>${count(uncounted)}</b>not counted</div></div>
<div class="card"><h3>Requests ${per(timeline.widthMs)}</h3><ul class="legend"><li class="yes"><i></i>allowed</li><li class="no"><i></i>denied</li></ul><div class="scroll" tabindex="0">${chart(
    {
      title: `Allowed and denied over time, ${name}`,
      ...timeline,
      series: [
        { name: 'allowed', colour: 'yes', values: timeline.allowed },
        { name: 'denied', colour: 'no', values: timeline.denied },
      ],
      kind: 'stacked',
    },
  )}${
    denied > 0 &&
    html`<h4>Share denied</h4>${chart({ title: `Share denied over time, ${name}`, ...timeline, series: [{ name: 'denied', colour: 'no', values: share }], kind: 'bars', height: 96, most: 100, unit: ' %' })}`
  }</div></div>
${policies.map((policy, i) => policyCard(policy, `${index}-${i}`))}
<details><summary>The policies, as JSON</summary><pre>${JSON.stringify(document, null, 2)}</pre></details></section>`
}

function policyCard(policy: PolicyResult, id: string): Html {
  const { name, sentence, mode, requests, denied, delayed, longestDelayMs, limit } = policy
  return html`<div class="card"><h3>${name}${mode === 'shadow' && html`<span class="badge">shadow</span>`}</h3><p>${sentence}</p>
<p class="soft">${mode === 'shadow' ? 'Would deny' : 'Denies'} ${count(denied)} of ${count(requests)} requests (${percent(denied, requests)}), from ${keysText(policy)}.${delayed > 0 && ` ${count(delayed)} are delayed, up to ${span(longestDelayMs)}.`}</p>
${policy.deniedKeys.length > 0 && deniedTable(policy.deniedKeys)}${policy.closest.length > 0 && closestTable(policy.closest, limit)}${policy.busiest.length > 0 && denied === 0 && busiestTable(policy.busiest)}
${policy.concurrency !== null && concurrencyTable(policy.concurrency)}${denied > 0 && breakdownTables(policy.breakdown)}${whatIfSlider(policy)}
${policy.followed.length > 0 && followedCharts(policy, id)}</div>`
}

const keyCell = (key: string): Html => html`<td class="key" title="${plain(key, 400)}">${plain(key) || '(none)'}</td>`

function deniedTable(keys: readonly KeyResult[]): Html {
  const most = Math.max(...keys.map(({ requests }) => requests))
  const rows = keys
    .slice(0, SHOWN)
    .map(
      ({ key, requests, denied, firstDeniedAt, lastDeniedAt, longestRetryMs }) =>
        html`<tr>${keyCell(key)}<td class="share"><span class="meter" style="width:${((100 * requests) / most).toFixed(2)}%" title="${count(denied)} of ${count(requests)} denied"><i style="width:${((100 * denied) / requests).toFixed(2)}%"></i></span></td><td>${count(denied)}</td><td>${count(requests)}</td><td>${moment(firstDeniedAt ?? '')}</td><td>${moment(lastDeniedAt ?? '')}</td><td>${span(longestRetryMs)}</td></tr>`,
    )
  return html`<h4>Denied most</h4><div class="scroll" tabindex="0"><table><thead><tr><th>key</th><th class="share"></th><th>denied</th><th>of</th><th>first</th><th>last</th><th>longest wait</th></tr></thead><tbody>${rows}</tbody></table></div>`
}

const closestTable = (keys: readonly KeyResult[], limit: number): Html =>
  html`<h4>Closest to a denial: never denied</h4><div class="scroll" tabindex="0"><table><thead><tr><th>key</th><th>remaining</th><th>of</th><th>requests</th><th>when</th></tr></thead><tbody>${keys
    .slice(0, 8)
    .map(
      ({ key, leastRemaining, requests, leastAt }) =>
        html`<tr>${keyCell(key)}<td>${count(leastRemaining)}</td><td>${count(limit)}</td><td>${count(requests)}</td><td>${moment(leastAt)}</td></tr>`,
    )}</tbody></table></div>`

const busiestTable = (keys: readonly KeyResult[]): Html =>
  html`<h4>Busiest</h4><div class="scroll" tabindex="0"><table><thead><tr><th>key</th><th>requests</th></tr></thead><tbody>${keys
    .slice(0, 8)
    .map(({ key, requests }) => html`<tr>${keyCell(key)}<td>${count(requests)}</td></tr>`)}</tbody></table></div>`

function followedCharts({ name, followed, limit }: PolicyResult, id: string): Html {
  const options = followed.map(({ key }) => html`<option>${plain(key) || '(none)'}</option>`)
  const charts = followed.map(
    (
      { key, startMs, widthMs, leastRemaining, mostRemaining, denied },
      i,
    ) => html`<div class="scroll" tabindex="0" data-of="${id}" ${i > 0 && raw('hidden')}>
<p class="soft small">from ${moment(new Date(startMs).toISOString())}, the least and the most ${per(widthMs)}; red: some requests were denied</p>${chart(
      {
        title: `Remaining units of ${plain(key)} over time, ${name}`,
        startMs,
        widthMs,
        series: [
          { name: 'least', colour: 'one', values: leastRemaining },
          { name: 'most', colour: 'one', values: mostRemaining },
          { name: 'denied', colour: 'no', values: denied },
        ],
        kind: 'level',
        height: 170,
        most: limit,
      },
    )}</div>`,
  )
  return html`<h4>Remaining units of <select data-choose="${id}" aria-label="Key">${options}</select> of ${count(limit)}, over time</h4>${charts}`
}

const per = (widthMs: number): string => `per ${each(widthMs)}`
