import type { VNode } from 'vue'
import { ALGORITHM_IDS, ALGORITHMS, type Numbers } from './algorithms.ts'
import { UNITS } from './link.ts'
import type { Playground } from './state.ts'
import { PATTERNS, type Pattern } from './traffic.ts'

const textOf = (event: Event): string => (event.target as HTMLInputElement).value
const keysOf = <T extends object>(table: T): (keyof T & string)[] => Object.keys(table) as (keyof T & string)[]

/** The form: quota, traffic, algorithms. */
export function controls({ choices }: Playground): VNode {
  const numberField = (name: Exclude<keyof Numbers, 'unit'>, label: string, least: number): VNode => (
    <label class="pg-field">
      <span>{label}</span>
      <input
        type="number"
        inputmode="numeric"
        min={least}
        value={choices[name]}
        onInput={(event) => {
          choices[name] = Number(textOf(event))
        }}
      />
    </label>
  )
  return (
    <form class="pg-controls" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>Quota</legend>
        <div class="pg-fields">
          {numberField('limit', 'Units', 1)}
          {numberField('every', 'every', 1)}
          <label class="pg-field">
            <span>unit of time</span>
            <select
              value={choices.unit}
              onChange={(event) => {
                choices.unit = textOf(event) as Numbers['unit']
              }}
            >
              {keysOf(UNITS).map((unit) => (
                <option key={unit} value={unit}>
                  {UNITS[unit]}
                </option>
              ))}
            </select>
          </label>
          {choices.shown.includes('token') && (
            <label class="pg-field">
              <span>Burst</span>
              <input
                type="number"
                inputmode="numeric"
                min={1}
                placeholder={String(choices.limit)}
                value={choices.burst === 0 ? '' : choices.burst}
                onInput={(event) => {
                  choices.burst = Number(textOf(event))
                }}
              />
            </label>
          )}
          {choices.shown.includes('interval') && numberField('portions', 'Portions', 1)}
          {choices.shown.includes('leaky') && numberField('queue', 'Queue', 0)}
        </div>
      </fieldset>
      <fieldset>
        <legend>Traffic</legend>
        <div class="pg-chips">
          {keysOf(PATTERNS).map((pattern) => (
            <label key={pattern} class="pg-chip">
              <input
                type="radio"
                name="pattern"
                value={pattern}
                checked={choices.pattern === pattern}
                onChange={() => {
                  choices.pattern = pattern as Pattern
                }}
              />
              <span>{PATTERNS[pattern]}</span>
            </label>
          ))}
        </div>
        {choices.pattern !== 'none' && (
          <label class="pg-load">
            <span>{choices.pattern === 'attack' ? 'The flood' : 'Demand'}</span>
            <input
              type="range"
              min={0.2}
              max={4}
              step={0.1}
              value={choices.load}
              onInput={(event) => {
                choices.load = Number(textOf(event))
              }}
            />
            <span class="pg-number">
              {choices.pattern === 'attack'
                ? `${(4 * choices.load).toFixed(1)} times`
                : `${choices.load.toFixed(1)} times`}{' '}
              the quota
            </span>
          </label>
        )}
        {choices.pattern === 'attack' && (
          <label class="pg-check">
            <input
              type="checkbox"
              checked={choices.apart}
              onChange={(event) => {
                choices.apart = (event.target as HTMLInputElement).checked
              }}
            />
            <span>a bucket for each client</span>
          </label>
        )}
      </fieldset>
      <fieldset>
        <legend>Algorithms</legend>
        <div class="pg-chips">
          {ALGORITHM_IDS.map((id) => (
            <label key={id} class="pg-chip">
              <input
                type="checkbox"
                checked={choices.shown.includes(id)}
                onChange={(event) => {
                  const wanted = (event.target as HTMLInputElement).checked
                  choices.shown = ALGORITHM_IDS.filter((each) => (each === id ? wanted : choices.shown.includes(each)))
                }}
              />
              <span>{ALGORITHMS[id].name}</span>
            </label>
          ))}
        </div>
      </fieldset>
    </form>
  )
}
