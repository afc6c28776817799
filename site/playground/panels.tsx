import type { HeaderForm } from '@spillway/core/http'
import { computed, defineComponent, ref, type VNode } from 'vue'
import { chooseFramework } from '../.vitepress/theme/choice.ts'
import type { Answer } from './app.ts'
import { codeOf, installOf } from './code.ts'
import { FRAMEWORK_IDS, FRAMEWORKS, type FrameworkId } from './frameworks.ts'
import { HEADER_FORMS, linkOf, momentLink } from './link.ts'
import { type Playground, pickedLane } from './state.ts'
import { lastBefore, spanText } from './summary.ts'

const PHRASES: Readonly<Record<number, string>> = {
  200: 'OK',
  429: 'Too Many Requests',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

const BODIES: Readonly<Record<number, string>> = { 200: 'hello', 499: '' }

/** An answer as an HTTP response, with its problem document indented. */
export function responseText({ status, denial, headers }: Answer): string {
  const type = denial?.contentType ?? 'text/plain'
  const body = denial ? JSON.stringify(JSON.parse(denial.body), null, 2) : (BODIES[status] ?? 'a StoreError')
  const fields = [...headers, ['Content-Type', type] as const].map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${PHRASES[status] ?? ''}`, ...fields, '', body].join('\n')
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
      const picked = pickedLane(props.play)
      return picked && 'run' in picked.result ? { name: picked.kind.name, list: picked.result.run.answers } : undefined
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
      const picked = pickedLane(props.play)?.kind
      return (
        <section class="pg-panel" aria-labelledby="pg-response">
          <h2 id="pg-response">The response{answers.value ? `: ${answers.value.name}` : ''}</h2>
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
            {picked?.shed === undefined && (
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
            )}
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

/** Everything that is shown, as a link contains it: also the visitor's requests and the time. */
const hashOf = ({ choices, own, at }: Playground): string =>
  [linkOf(choices), momentLink(own.value, at.value)].filter((part) => part !== '').join('&')

/** The address of this page with everything that is shown. */
const linkToThis = (play: Playground): string => `${location.origin}${location.pathname}#${hashOf(play)}`

/** A frame with these lanes alone, for other pages. */
function frameOf(play: Playground): string {
  const address = new URL(`embed.html#${hashOf(play)}`, location.href)
  const height = 190 + 230 * play.lanes.value.length
  return `<iframe src="${address.href.replaceAll('&', '&amp;')}" title="Spillway" width="100%" height="${height}" style="border:0"></iframe>`
}

/** The code to copy into an app. */
export const CodePanel = defineComponent(
  (props: { play: Playground }) => {
    const framework = computed(() => props.play.choices.framework)
    const copied = ref('')
    const text = computed(() => {
      const lane = pickedLane(props.play)
      return lane ? codeOf(framework.value, lane.kind, props.play.choices) : ''
    })
    const install = computed(() => {
      const lane = pickedLane(props.play)
      return lane ? installOf(framework.value, lane.kind) : ''
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
            chooseFramework(FRAMEWORKS[id].name)
          }}
        />
        <span>{FRAMEWORKS[id].name}</span>
      </label>
    )
    return () => (
      <section class="pg-panel" aria-labelledby="pg-code">
        <h2 id="pg-code">The code: {pickedLane(props.play)?.kind.name}</h2>
        <fieldset class="pg-chips">
          <legend class="pg-hidden">Framework</legend>
          {FRAMEWORK_IDS.map(tab)}
        </fieldset>
        <pre class="pg-code" tabindex="0">{`${install.value}\n\n${text.value}`}</pre>
        <div class="pg-tools">
          <button type="button" onClick={() => copy(text.value)}>
            Copy the code
          </button>
          <button type="button" onClick={() => copy(linkToThis(props.play))}>
            Copy a link to this
          </button>
          <button type="button" onClick={() => copy(frameOf(props.play))}>
            Copy a frame
          </button>
          <span role="status">{copied.value}</span>
        </div>
      </section>
    )
  },
  { props: ['play'] },
)
