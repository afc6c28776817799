import type { AccessLogs, Suggestion } from '@spillway/cli/browser'
import { defineComponent, onBeforeUnmount, onMounted, ref, type VNode } from 'vue'
import { quotaText } from './code.ts'
import { exampleLog } from './example.ts'
import { affectedKeys, logChart, resultText } from './result.tsx'
import { type LogState, logState, SHARES } from './state.ts'
import { count, counted, moment, percent } from './text.ts'
import './log.css'

/** The positions of the slider, whose limits are in equal ratios. */
const POSITIONS = 1000

const textOf = (event: Event): string => (event.target as HTMLInputElement).value

function readingText({ requests, lines, badLines, formats, keys, fromMs, toMs }: AccessLogs): string {
  const read = `${counted(requests, 'request')} in ${counted(lines, 'line')}, format: ${Object.keys(formats).join(', ') || 'unknown'}`
  const bad = badLines > 0 ? `; ${counted(badLines, 'line')} could not be read` : ''
  const span = fromMs === undefined || toMs === undefined ? '' : `; ${moment(fromMs)} to ${moment(toMs)} UTC`
  return `${read}${bad}; ${counted(keys, 'key')}${span}.`
}

/** What can be chosen before a log is read. */
function source(state: LogState, dragged: boolean): VNode {
  const { key, progress } = state
  return (
    <div class={dragged ? 'pg-drop pg-dragged' : 'pg-drop'}>
      <p>
        <b>Drop access logs anywhere on this page</b>, also rotated .gz files. They stay in your browser.
      </p>
      <div class="pg-tools">
        <label class="pg-file">
          <input
            type="file"
            multiple
            onChange={(event) => {
              const input = event.target as HTMLInputElement
              void state.read([...(input.files ?? [])])
              input.value = ''
            }}
          />
          <span>Choose files</span>
        </label>
        <button type="button" onClick={() => state.read([exampleLog()])}>
          Try an example
        </button>
        <label class="pg-field">
          <span>Count by</span>
          <input
            type="text"
            value={key.value}
            list="pg-selectors"
            onChange={(event) => {
              key.value = textOf(event)
              void state.read()
            }}
          />
          <datalist id="pg-selectors">
            {['ip', 'header:x-api-key', 'header:user-agent', 'claim:user'].map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </label>
      </div>
      {progress.value !== undefined && <progress value={progress.value} max={1} aria-label="Reading" />}
    </div>
  )
}

/** The tightest quotas, of which one is tried. */
function suggested(state: LogState, { requests }: AccessLogs): VNode {
  const { suggestions, share, per, limit } = state
  const row = (each: Suggestion): VNode => (
    <tr key={each.per}>
      <th scope="row">
        <label class="pg-check">
          <input
            type="radio"
            name="suggestion"
            checked={per.value === each.per && limit.value === each.limit}
            onChange={() => state.choose(each)}
          />
          <span>
            {count(each.limit)} per {each.per}
          </span>
        </label>
      </th>
      <td>
        {count(each.denied)} ({percent(each.denied, requests)})
      </td>
      <td>{count(each.keys)}</td>
    </tr>
  )
  return (
    <div>
      <label class="pg-check">
        <span>The tightest quotas that deny at most</span>
        <select
          value={share.value}
          onChange={(event) => {
            share.value = Number(textOf(event))
            const same = suggestions.value.find((each) => each.per === per.value)
            if (same) state.choose(same)
          }}
        >
          {SHARES.map((each) => (
            <option key={each} value={each}>
              {`${100 * each} %`}
            </option>
          ))}
        </select>
        <span>of the requests, each on its own:</span>
      </label>
      <div class="pg-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Quota</th>
              <th scope="col">Denied</th>
              <th scope="col">Affected keys</th>
            </tr>
          </thead>
          <tbody>{suggestions.value.map(row)}</tbody>
        </table>
      </div>
    </div>
  )
}

/** The slider over limits, and what the selected one denies. */
function whatIf({ per, limit, enough, result, key }: LogState, { requests }: AccessLogs): VNode | null {
  if (result.value === undefined) return null
  const text = resultText(result.value, requests)
  const position = Math.min(Math.round((POSITIONS * Math.log(limit.value)) / Math.log(enough.value)), POSITIONS)
  return (
    <div class="pg-what-if">
      <label class="pg-check">
        <b>What if the limit were</b>
        <input
          type="number"
          inputmode="numeric"
          aria-label="Limit"
          min={1}
          value={limit.value}
          onInput={(event) => {
            const wanted = Math.trunc(Number(textOf(event)))
            if (wanted >= 1 && wanted <= 1e9) limit.value = wanted
          }}
        />
        <span>per {per.value}?</span>
      </label>
      <input
        type="range"
        aria-label="What if the limit were"
        aria-valuetext={`${count(limit.value)} per ${per.value}: ${text}`}
        min={0}
        max={POSITIONS}
        value={position}
        onInput={(event) => {
          limit.value = Math.max(Math.round(enough.value ** (Number(textOf(event)) / POSITIONS)), 1)
        }}
      />
      <output class="pg-log-result">{text}</output>
      {logChart(result.value)}
      {affectedKeys(result.value)}
      <pre class="pg-code pg-quota" tabindex="0">
        {quotaText(key.value, per.value, limit.value)}
      </pre>
    </div>
  )
}

/** Access logs of a visitor, on which quotas are tried: nothing of them leaves the browser. */
export const AccessLog = defineComponent(() => {
  const state = logState()
  const dragged = ref(false)
  const listeners: Readonly<Record<string, (event: DragEvent) => void>> = {
    dragover: (event) => {
      event.preventDefault()
      dragged.value = true
    },
    dragleave: (event) => {
      if (event.relatedTarget === null) dragged.value = false
    },
    drop: (event) => {
      event.preventDefault()
      dragged.value = false
      void state.read([...(event.dataTransfer?.files ?? [])])
    },
  }
  onMounted(() => {
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener as EventListener)
  })
  onBeforeUnmount(() => {
    for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener as EventListener)
  })
  return () => {
    const logs = state.logs.value
    return (
      <section class="pg-panel pg-log" aria-labelledby="pg-log">
        <h2 id="pg-log">Your own access log</h2>
        {source(state, dragged.value)}
        {state.problem.value !== '' && (
          <p class="pg-problem" role="alert">
            {state.problem.value}
          </p>
        )}
        {logs && (
          <p class="pg-caption" role="status">
            {readingText(logs)}
          </p>
        )}
        {logs?.doubts.map((doubt) => (
          <p key={doubt} class="pg-problem" role="note">
            No verdict: {doubt}.
          </p>
        ))}
        {logs && logs.requests > 0 && suggested(state, logs)}
        {logs && whatIf(state, logs)}
      </section>
    )
  }
})
