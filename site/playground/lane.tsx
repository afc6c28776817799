import { computed, defineComponent, type VNode } from 'vue'
import type { Answer, Run } from './app.ts'
import { chartOf, LEVEL_HEIGHT, ROW_HEIGHT } from './chart.ts'
import { drawing, factsOf, sentenceOf, timeAxis } from './drawing.tsx'
import { hasWindow, wordsOf } from './lane-kind.ts'
import { type Lane, type Playground, pickedLane } from './state.ts'
import { lastBefore, levelAt, spanText } from './summary.ts'

/** The drawing. It does not depend on the current time, so that playing does not redraw it. */
const LaneChart = defineComponent(
  (props: { lane: Lane; play: Playground }) => () => {
    const { lane, play } = props
    if (!('run' in lane.result)) return null
    const { run, summary } = lane.result
    const { traffic, window } = play
    const chart = chartOf(run, traffic.value.span, hasWindow(play.choices.scene) ? window.value : undefined)
    const { name } = lane.kind
    const { scene } = play.choices
    return drawing(
      chart,
      hasWindow(scene) ? sentenceOf(name, summary, spanText(window.value / 1000)) : factsOf(name, summary, scene, run),
    )
  },
  { props: ['lane', 'play'] },
)

/** The decision of an answer, as text. */
function verdictText({ decision, arrival, note }: Answer): string {
  if (note !== undefined) return note
  if (decision.degraded?.action === 'allow') return 'allowed, not counted'
  if (decision.degraded?.action === 'local' && decision.allowed) return 'allowed by the local count'
  if (!decision.allowed && decision.retryAfterMs === Infinity) return `costs ${arrival.cost}: never fits`
  if (!decision.allowed && decision.retryAfterMs === 0) return 'the store does not answer'
  if (!decision.allowed) return `again in ${spanText(decision.retryAfterMs)}`
  return decision.delayMs > 0 ? `allowed after ${spanText(decision.delayMs)}` : 'allowed'
}

/** The state at the current time: the level and the last answer. */
const LaneNow = defineComponent(
  (props: { lane: Lane; run: Run; play: Playground }) => {
    // Of two clients, the one that stays within the quota.
    const answers = computed(() => props.run.answers.filter(({ arrival }) => arrival.client === 'you'))
    const index = computed(() => lastBefore(answers.value, props.play.at.value))
    return () => {
      const { run, play, lane } = props
      const { lines } = run
      const bound = lines.find(({ isLimit }) => isLimit)
      const units = Math.max(levelAt(lines[0], play.at.value), 0)
      const limit = bound ? levelAt(bound, play.at.value) : lines[0].top
      const more = lane.kind.now?.(run, play.at.value) ?? ''
      const share = Math.min(units / limit, 1)
      const last = answers.value[index.value]
      return (
        <div class="pg-now">
          <div class="pg-vessel" aria-hidden="true">
            <div class="pg-water" style={{ transform: `scaleY(${share.toFixed(4)})` }} />
            <span>{Math.floor(units + 1e-6)}</span>
          </div>
          <div class="pg-words">
            <p class="pg-left">
              <b>{Math.floor(units + 1e-6)}</b> of {limit} {lane.kind.left}
            </p>
            {last ? (
              <p>
                <span class={last.decision.allowed ? 'pg-status pg-yes' : 'pg-status pg-no'}>{last.status}</span>{' '}
                {verdictText(last)}
              </p>
            ) : (
              <p>no request yet</p>
            )}
            {more !== '' && <p class="pg-left">{more}</p>}
          </div>
        </div>
      )
    }
  },
  { props: ['lane', 'run', 'play'] },
)

/** The line that marks the current time in a drawing. */
const Playhead = defineComponent(
  (props: { play: Playground }) => () => {
    const { at, traffic } = props.play
    return <div class="pg-head" style={{ left: `${(at.value / traffic.value.span) * 100}%` }} />
  },
  { props: ['play'] },
)

/** An algorithm: name, code, result, drawing, and state at the current time. */
export function laneCard(lane: Lane, play: Playground, lookAt: (slider: HTMLInputElement, lane: Lane) => void): VNode {
  const { choices, traffic } = play
  const { kind, result } = lane
  const { id, name, code } = kind
  const [yes, no] = wordsOf(choices.scene)
  const isPicked = pickedLane(play) === lane
  const heading = (
    <header class="pg-lane-head">
      <h2>
        <button
          type="button"
          aria-pressed={isPicked}
          title="Show its responses and its code"
          onClick={() => {
            choices.picked = id
          }}
        >
          {name}
        </button>
      </h2>
      {'run' in result && <code>{code}</code>}
      {'run' in result && (
        <p class="pg-counts">
          <b class="pg-yes">{result.summary.admitted}</b> {yes}, <b class="pg-no">{result.summary.denied}</b> {no}
        </p>
      )}
    </header>
  )
  if (!('run' in result)) {
    return (
      <section key={id} class="pg-lane">
        {heading}
        <p class="pg-problem" role="alert">
          {result.problem}
        </p>
      </section>
    )
  }
  return (
    <section key={id} class={isPicked ? 'pg-lane pg-picked' : 'pg-lane'}>
      {heading}
      <LaneNow lane={lane} run={result.run} play={play} />
      <div class="pg-plot">
        <span class="pg-y" aria-hidden="true">
          {result.run.lines[0].top}
        </span>
        <span class="pg-y" aria-hidden="true" style={{ top: `${LEVEL_HEIGHT - 14}px` }}>
          0
        </span>
        <LaneChart lane={lane} play={play} />
        {choices.pattern === 'attack' &&
          (['a client', 'the flood'] as const).map((label, i) => (
            <span key={label} class="pg-who" aria-hidden="true" style={{ top: `${LEVEL_HEIGHT + i * ROW_HEIGHT}px` }}>
              {label}
            </span>
          ))}
        <Playhead play={play} />
        {/* The drawing is a slider for touch and mouse. The keyboard uses the slider above, so this one is not focusable. */}
        <input
          type="range"
          class="pg-touch"
          tabindex={-1}
          aria-label={`Time, on ${name}`}
          min={0}
          max={traffic.value.span}
          step="any"
          onInput={(event) => lookAt(event.target as HTMLInputElement, lane)}
        />
        {timeAxis(traffic.value.span)}
      </div>
    </section>
  )
}
