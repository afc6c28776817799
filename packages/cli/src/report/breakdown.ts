import { count, plain } from '../format.ts'
import type { BreakdownResult } from '../replay/breakdown.ts'
import { type Html, html } from './markup.ts'

const TITLES: readonly (readonly [keyof BreakdownResult, string])[] = [
  ['path', 'Denied by path'],
  ['method', 'by method'],
  ['status', 'by status'],
  ['hour', 'by hour (UTC)'],
]

/** The denied requests by their parts, a table each. */
export function breakdownTables(breakdown: BreakdownResult): Html {
  const tables = TITLES.map(([part, title]) => {
    const rows = breakdown[part].map(
      ({ value, denied }) =>
        html`<tr><td class="key" title="${plain(value, 400)}">${plain(value)}</td><td>${count(denied)}</td></tr>`,
    )
    return html`<div><h4>${title}</h4><table><tbody>${rows}</tbody></table></div>`
  })
  return html`<div class="parts">${tables}</div>`
}
