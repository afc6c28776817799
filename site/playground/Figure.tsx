import { defineComponent } from 'vue'
import { ALGORITHMS, type AlgorithmId, windowOf } from './algorithms.ts'
import { chartOf } from './chart.ts'
import { drawing, sentenceOf, timeAxis } from './drawing.tsx'
import { DEFAULTS, linkOf } from './link.ts'
import { run } from './run.ts'
import { spanText, summaryOf } from './summary.ts'
import { type Pattern, trafficOf } from './traffic.ts'
import './playground.css'

/** A drawing of an algorithm, computed by core when the page is built, with a link to the playground. */
export const Figure = defineComponent(
  (props: { algorithm: AlgorithmId; pattern: Pattern }) => {
    const { algorithm, pattern } = props
    const { name, code, quota } = ALGORITHMS[algorithm]
    const window = windowOf(DEFAULTS)
    const traffic = trafficOf({ pattern, limit: DEFAULTS.limit, window, load: 1 })
    const result = run(quota(DEFAULTS), traffic, DEFAULTS)
    const sentence = sentenceOf(name, summaryOf(result, window), spanText(window / 1000))
    const link = linkOf({ ...DEFAULTS, pattern, load: 1, picked: algorithm, shown: [algorithm] })
    return () => (
      <figure class="pg pg-figure">
        <div class="pg-plot">
          {drawing(chartOf(result, traffic.span, window), sentence)}
          {timeAxis(traffic.span)}
        </div>
        <figcaption>
          <code>{code(DEFAULTS)}</code> <span>{sentence}</span>{' '}
          <a href={`./playground.html#${link}`}>Open in the playground</a>
        </figcaption>
      </figure>
    )
  },
  { props: ['algorithm', 'pattern'] },
)
