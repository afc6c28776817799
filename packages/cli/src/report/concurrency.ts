import { count, plain } from '../format.ts'
import { caveatsOf, meanText, slotsText } from '../replay/concurrency-text.ts'
import type { Concurrency } from '../replay/flights.ts'
import { type Html, html } from './markup.ts'

/** The number of keys in the table. */
const SHOWN = 8

/** How many requests were in flight at once, and what slots would have denied. */
export function concurrencyTable(concurrency: Concurrency): Html {
  const { keys, limits, requests } = concurrency
  const rows = keys
    .slice(0, SHOWN)
    .map(
      ({ key, max, p99, mean, requests }) =>
        html`<tr><td class="key" title="${plain(key, 400)}">${plain(key) || '(none)'}</td><td>${count(max)}</td><td>${count(p99)}</td><td>${meanText(mean)}</td><td>${count(requests)}</td></tr>`,
    )
  return html`<h4>In flight at once</h4><div class="scroll" tabindex="0"><table><thead><tr><th>key</th><th>most</th><th>p99</th><th>mean</th><th>requests</th></tr></thead><tbody>${rows}</tbody></table></div>
<ul class="soft">${limits.map((each) => html`<li>${slotsText(each, requests)}</li>`)}</ul>${caveatsOf(concurrency).map((each) => html`<p class="soft small">${each}</p>`)}`
}
