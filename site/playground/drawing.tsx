import type { VNode } from 'vue'
import type { Run } from './app.ts'
import { type Chart, WIDTH } from './chart.ts'
import { type Scene, wordsOf } from './lane-kind.ts'
import { type Summary, spanText } from './summary.ts'

/** The result of a run, as a sentence. */
export const sentenceOf = (name: string, { admitted, denied, most }: Summary, window: string): string =>
  `${name}: ${admitted} allowed, ${denied} denied; at most ${most} units in any ${window}.`

/** The result of a run that has no window, as a sentence. */
export const factsOf = (name: string, { admitted, denied }: Summary, scene: Scene, { facts = {} }: Run): string => {
  const [yes, no] = wordsOf(scene)
  return `${name}: ${admitted} ${yes}, ${denied} ${no}; ${Object.entries(facts)
    .map(([what, value]) => `${what.toLowerCase()}: ${value}`)
    .join('; ')}.`
}

/** A run as an SVG that fills its container. */
export function drawing(chart: Chart, label: string): VNode {
  return (
    <svg
      class="pg-chart"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${chart.height}`}
      style={{ height: `${chart.height}px` }}
      preserveAspectRatio="none"
    >
      {chart.outage && (
        <rect class="pg-outage" x={chart.outage[0]} y={0} width={chart.outage[1]} height={chart.height} />
      )}
      <path class="pg-edges" d={chart.edges} />
      <path class="pg-area" d={chart.area} />
      <path class="pg-line" d={chart.line} />
      {chart.others !== '' && <path class="pg-line pg-other" d={chart.others} />}
      {chart.limit !== '' && <path class="pg-line pg-limit" d={chart.limit} />}
      {chart.rows.map(({ client, base, areMany, admitted, denied, own }) => (
        <g key={client} class={`pg-row pg-${client} ${areMany ? 'pg-many' : ''}`}>
          <path class="pg-base" d={`M0,${base}H${WIDTH}`} />
          <path class="pg-denied" d={denied} />
          <path class="pg-admitted" d={admitted} />
          <path class="pg-own" d={own} />
        </g>
      ))}
    </svg>
  )
}

/** The times below a drawing. */
export function timeAxis(span: number): VNode {
  return (
    <div class="pg-times" aria-hidden="true">
      {[0, 1 / 3, 2 / 3, 1].map((share) => (
        <span key={share}>{share === 0 ? '0' : spanText((span * share) / 1000)}</span>
      ))}
    </div>
  )
}
