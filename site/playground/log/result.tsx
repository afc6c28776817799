import type { LimitResult } from '@spillway/cli/browser'
import type { VNode } from 'vue'
import { count, counted, moment, percent, plain } from './text.ts'

const [WIDTH, HEIGHT] = [1000, 120]

/** The requests over time: allowed, and denied on top of them. */
export function logChart({ timeline, denied }: LimitResult): VNode {
  const parts = timeline.allowed.length
  const all = timeline.allowed.map((allowed, i) => allowed + (timeline.denied[i] as number))
  const most = Math.max(...all, 1)
  const x = (part: number): string => ((part / parts) * WIDTH).toFixed(1)
  const y = (value: number): string => (HEIGHT - (value / most) * HEIGHT).toFixed(1)
  const bars = (from: (i: number) => number, to: (i: number) => number): string =>
    all
      .map((_, i) => (to(i) > from(i) ? `M${x(i)},${y(from(i))}V${y(to(i))}H${x(i + 0.9)}V${y(from(i))}Z` : ''))
      .join('')
  const allowed = (i: number): number => timeline.allowed[i] as number
  return (
    <div class="pg-plot">
      <span class="pg-y" aria-hidden="true">
        {count(most)}
      </span>
      <svg
        class="pg-log-chart"
        role="img"
        aria-label={`Requests over time: ${count(denied)} denied; at most ${count(most)} in an interval`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <path class="pg-log-allowed" d={bars(() => 0, allowed)} />
        <path class="pg-log-denied" d={bars(allowed, (i) => all[i] as number)} />
      </svg>
      <div class="pg-times" aria-hidden="true">
        <span>{moment(timeline.startMs)}</span>
        <span>{moment(timeline.startMs + parts * timeline.widthMs)} UTC</span>
      </div>
    </div>
  )
}

/** The keys that the limit affects, those with the most denied requests first. */
export function affectedKeys({ deniedKeys, keys }: LimitResult): VNode {
  if (keys === 0) return <p class="pg-caption">No key is affected.</p>
  return (
    <div class="pg-scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">
              Affected keys{keys > deniedKeys.length ? `, ${deniedKeys.length} of ${count(keys)}` : ''}
            </th>
            <th scope="col">Denied</th>
            <th scope="col">Share</th>
          </tr>
        </thead>
        <tbody>
          {deniedKeys.map(({ key, denied, requests }) => (
            <tr key={key}>
              <th scope="row" class="pg-key">
                {plain(key) || '(none)'}
              </th>
              <td>
                {count(denied)} of {count(requests)}
              </td>
              <td>{percent(denied, requests)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The result as a sentence, which is also announced while the slider moves. */
export const resultText = ({ denied, keys }: LimitResult, requests: number): string =>
  `${count(denied)} denied (${percent(denied, requests)}), from ${counted(keys, 'key')}`
