import type { HeaderForm } from '@spillway/core/http'
import { computed, defineComponent, ref, type VNode } from 'vue'
import { ALGORITHMS } from './algorithms.ts'
import { codeOf, FRAMEWORK_IDS, FRAMEWORKS, type FrameworkId } from './code.ts'
import { HEADER_FORMS, linkOf, momentLink } from './link.ts'
import type { Answer } from './run.ts'
import type { Playground } from './state.ts'
import { lastBefore, spanText } from './summary.ts'

/** An answer as an HTTP response, with its problem document indented. */
export function responseText({ denial, headers }: Answer): string {
  const type = denial?.contentType ?? 'text/plain'
  const body = denial ? JSON.stringify(JSON.parse(denial.body), null, 2) : 'hello'
  const fields = [...headers, ['Content-Type', type] as const].map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${denial ? '429 Too Many Requests' : '200 OK'}`, ...fields, '', body].join('\n')
}

function captionOf({ arrival, decision }: Answer, ordinal: number, all: number): string {
  const sender = arrival.client === 'flood' ? 'from the flood' : arrival.own ? 'sent by you' : 'from a client'
  const held = decision.delayMs > 0 ? ` It is delayed by ${spanText(decision.delayMs)}, and then answered:` : ''
  return `Request ${ordinal} of ${all}, after ${spanText(arrival.at / 1000)}, ${sender}; it costs ${arrival.cost}.${held}`
}

/** The response of the selected algorithm to the current request. */
export const ResponsePanel = defineComponent(
  (props: { play: Playground; pause: () => void }) => {
    const answers = computed(() => {
      const { lanes, choices } = props.play
      const picked = lanes.value.find(({ id }) => id === choices.picked) ?? lanes.value[0]
      return picked && 'run' in picked.result ? { id: picked.id, list: picked.result.run.answers } : undefined
    })
    const index = computed(() => lastBefore(answers.value?.list ?? [], props.play.at.value))
    const go = (to: number): void => {
      props.pause()
      const answer = answers.value?.list[to]
      if (answer) props.play.at.value = answer.arrival.at
    }
    return () => {
      const { choices } = props.play
      const answer = answers.value?.list[index.value]
      return (
        <section class="pg-panel" aria-labelledby="pg-response">
          <h2 id="pg-response">The response{answers.value ? `: ${ALGORITHMS[answers.value.id].name}` : ''}</h2>
          <div class="pg-tools">
            <button type="button" disabled={index.value <= 0} onClick={() => go(index.value - 1)}>
              ← Earlier
            </button>
            <button
              type="button"
              disabled={index.value + 1 >= (answers.value?.list.length ?? 0)}
              onClick={() => go(index.value + 1)}
            >
              Later →
            </button>
            <label class="pg-field">
              <span>Headers</span>
              <select
                value={choices.headers}
                onChange={(event) => {
                  choices.headers = (event.target as HTMLSelectElement).value as HeaderForm
                }}
              >
                {HEADER_FORMS.map((form) => (
                  <option key={form} value={form}>
                    {form}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <p class="pg-caption">
            {answer ? captionOf(answer, index.value + 1, answers.value?.list.length ?? 0) : 'No request yet.'}
          </p>
          <pre class="pg-code" tabindex="0">
            {answer ? responseText(answer) : ' '}
          </pre>
        </section>
      )
    }
  },
  { props: ['play', 'pause'] },
)

/** The address of this page with everything that is shown: also the visitor's requests and the time. */
function linkToThis({ choices, own, at }: Playground): string {
  const parts = [linkOf(choices), momentLink(own.value, at.value)].filter((part) => part !== '')
  return `${location.origin}${location.pathname}#${parts.join('&')}`
}

/** The code to copy into an app. */
export const CodePanel = defineComponent(
  (props: { play: Playground }) => {
    const framework = computed(() => props.play.choices.framework)
    const copied = ref('')
    const text = computed(() => {
      const { choices } = props.play
      return codeOf(framework.value, { ...choices, algorithm: choices.picked, numbers: choices })
    })
    const copy = async (what: string): Promise<void> => {
      try {
        await navigator.clipboard.writeText(what)
        copied.value = 'Copied.'
      } catch {
        copied.value = 'The browser does not allow copying. Select the text instead.'
      }
      setTimeout(() => {
        copied.value = ''
      }, 2_000)
    }
    const tab = (id: FrameworkId): VNode => (
      <label key={id} class="pg-chip">
        <input
          type="radio"
          name="framework"
          checked={framework.value === id}
          onChange={() => {
            props.play.choices.framework = id
          }}
        />
        <span>{FRAMEWORKS[id].name}</span>
      </label>
    )
    return () => (
      <section class="pg-panel" aria-labelledby="pg-code">
        <h2 id="pg-code">The code: {ALGORITHMS[props.play.choices.picked].name}</h2>
        <fieldset class="pg-chips">
          <legend class="pg-hidden">Framework</legend>
          {FRAMEWORK_IDS.map(tab)}
        </fieldset>
        <pre class="pg-code" tabindex="0">{`${FRAMEWORKS[framework.value].install}\n\n${text.value}`}</pre>
        <div class="pg-tools">
          <button type="button" onClick={() => copy(text.value)}>
            Copy the code
          </button>
          <button type="button" onClick={() => copy(linkToThis(props.play))}>
            Copy a link to this
          </button>
          <span role="status">{copied.value}</span>
        </div>
      </section>
    )
  },
  { props: ['play'] },
)
