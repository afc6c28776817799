import { each } from '../format.ts'
import type { PolicyResult } from '../replay/result.ts'
import { configText, suggestionText } from '../replay/text.ts'
import { type Html, html } from './markup.ts'

/** A slider over the limits that were tried. */
export function whatIfSlider({ whatIf, requests, limit }: PolicyResult): Html | false {
  if (whatIf === null || whatIf.limits.length < 2) return false
  const { limits, suggested, windowMs } = whatIf
  const current = limits.findLastIndex((each) => each.limit <= limit)
  const data = JSON.stringify({ limits, requests, period: each(windowMs) })
  return html`<h4>What if the limit were …</h4><div class="what-if" data-limits="${data}">
<input type="range" min="0" max="${limits.length - 1}" value="${Math.max(current, 0)}" aria-label="Limit"><output></output>
<p class="soft small">Suggested: ${suggestionText(suggested, windowMs, requests)}: <code>${configText(suggested, windowMs)}</code></p></div>`
}
