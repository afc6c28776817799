import type { Micros } from '@spillway/core'
import { defineComponent, onBeforeUnmount, onMounted, ref, watch } from 'vue'
import { chosenFramework } from '../.vitepress/theme/choice.ts'
import { controls } from './controls.tsx'
import { FRAMEWORK_IDS, FRAMEWORKS } from './frameworks.ts'
import { laneCard } from './lane.tsx'
import { legend } from './legend.tsx'
import { isLink, linkOf } from './link.ts'
import { AccessLog } from './log/AccessLog.tsx'
import { CodePanel, ResponsePanel } from './panels.tsx'
import { player } from './player.ts'
import { type Lane, playground } from './state.ts'
import { lastBefore, spanText } from './summary.ts'
import { comparison } from './table.tsx'
import { MOST } from './traffic.ts'
import { Transport } from './transport.tsx'
import './playground.css'

/** The last answer of an algorithm, for screen readers. */
function answerAt({ kind, result }: Lane, moment: Micros): string {
  const last = 'run' in result ? result.run.answers[lastBefore(result.run.answers, moment)] : undefined
  if (last === undefined) return ''
  const { allowed, remaining, retryAfterMs } = last.decision
  if (last.note !== undefined) return `${kind.name}: ${last.note}`
  return `${kind.name}: ${allowed ? `allowed, ${remaining} left` : `denied, again in ${spanText(retryAfterMs)}`}`
}

/** Algorithms side by side on the same traffic, computed by core in the visitor's browser. */
export const Playground = defineComponent(
  (props: { embedded: boolean }) => {
    const play = playground()
    const { choices, at, traffic, own } = play
    const said = ref('')
    const {
      playing,
      play: start,
      pause,
    } = player(
      at,
      () => traffic.value.span,
      () => choices.pattern === 'none',
    )
    const alive = ref(false)
    let stop = (): void => {}
    onBeforeUnmount(() => stop())
    onMounted(() => {
      alive.value = true
      const open = (): void => void play.open(location.hash.slice(1))
      // An anchor of the page, as that of "Skip to content", has scrolled to its place. The address is that of the link
      // again: a visitor who copies it or reloads the page keeps the choices.
      const follow = ({ oldURL }: HashChangeEvent): void =>
        isLink(location.hash.slice(1)) ? open() : history.replaceState(history.state, '', oldURL)
      open()
      const chosen = FRAMEWORK_IDS.find((id) => FRAMEWORKS[id].name === chosenFramework())
      if (chosen && !location.hash.includes('framework=')) choices.framework = chosen
      addEventListener('hashchange', follow)
      stop = () => removeEventListener('hashchange', follow)
      watch(
        () => linkOf(choices),
        (link) =>
          props.embedded || history.replaceState(history.state, '', link === '' ? location.pathname : `#${link}`),
      )
    })
    const send = async (cost: number): Promise<void> => {
      if (choices.pattern === 'none' && at.value >= traffic.value.span) {
        own.value = []
        at.value = 0
      }
      const sentAt = Math.round(at.value)
      const answered = play.send(cost)
      if (choices.pattern === 'none') start()
      await answered
      said.value = play.lanes.value.map((lane) => answerAt(lane, sentAt)).join('; ')
    }
    const lookAt = (slider: HTMLInputElement, lane: Lane): void => {
      const { span, arrivals } = traffic.value
      const moment = Number(slider.value)
      // A touch near a request selects the request.
      const near = arrivals.reduce(
        (best, { at }) => (Math.abs(at - moment) < Math.abs(best - moment) ? at : best),
        -span,
      )
      pause()
      choices.picked = lane.kind.id
      at.value = Math.abs(near - moment) < (span * 8) / slider.clientWidth ? near : moment
    }
    return () => [
      <div class={props.embedded ? 'pg pg-embedded' : 'pg'} data-alive={alive.value}>
        {!props.embedded && controls(play)}
        <Transport
          play={play}
          playing={playing.value}
          toggle={() => (playing.value ? pause() : start())}
          send={send}
          pause={pause}
        />
        <p class="pg-hidden" role="status">
          {said.value}
        </p>
        {legend(play)}
        <div class="pg-lanes">{play.lanes.value.map((lane) => laneCard(lane, play, lookAt))}</div>
        {traffic.value.truncated && (
          <p class="pg-problem" role="note">
            Only the first {MOST.toLocaleString('en')} requests are sent: the run ends after them. Choose fewer units to
            see all of the pattern.
          </p>
        )}
        {choices.scene === 'algorithms' && choices.shown.length === 0 && <p class="pg-problem">Choose an algorithm.</p>}
        {props.embedded && (
          <a href={`./playground.html#${linkOf(choices)}`} target="_blank" rel="noopener">
            Change it in the playground
          </a>
        )}
        {!props.embedded && (
          <div class="pg-panels">
            <ResponsePanel play={play} pause={pause} />
            <CodePanel play={play} />
          </div>
        )}
        {!props.embedded && comparison(play)}
      </div>,
      !props.embedded && (
        <div class="pg">
          <AccessLog />
        </div>
      ),
    ]
  },
  { props: { embedded: Boolean } },
)
