import type { VNode } from 'vue'
import { ALGORITHM_IDS, ALGORITHMS, type AlgorithmId, type Numbers } from './algorithms.ts'
import { hasWindow, SCENES, type Scene } from './lane-kind.ts'
import { type Choices, DEFAULTS, MOST_TAKEN, UNITS } from './link.ts'
import { PER_SECOND } from './scenes/shedding.ts'
import type { Playground } from './state.ts'
import { PATTERNS, type Pattern } from './traffic.ts'

const textOf = (event: Event): string => (event.target as HTMLInputElement).value
const keysOf = <T extends object>(table: T): (keyof T & string)[] => Object.keys(table) as (keyof T & string)[]

/** What happens in a scene. */
const EXPLAINED: Readonly<Record<Exclude<Scene, 'algorithms'>, string>> = {
  policies: 'A request is allowed if both token buckets have its units. A denied request consumes nothing of either.',
  processes: 'A load balancer sends requests to one process after the other, each with the same token bucket.',
  failing: 'The store refuses connections in the middle third of the run. Its circuit breaker tries it again later.',
  slots: 'A request holds a slot until its response has ended. Each takes half of the given time to three halves.',
  shedding: `A service can serve ${PER_SECOND} requests a second, half as many in the middle third. Clients leave after 1 s.`,
}

/** The load at which the lanes of a scene differ. */
const LOADS: Partial<Record<Scene, number>> = { algorithms: DEFAULTS.load, slots: DEFAULTS.load, shedding: 1.5 }

/** What the demand is a multiple of. */
const UNIT_OF_LOAD: Partial<Record<Scene, string>> = {
  slots: 'what the slots let through',
  shedding: 'what the service can serve',
}

/** Only a quota has windows, and all requests are the same to a service. */
const patternsOf = (scene: Scene): Pattern[] =>
  keysOf(PATTERNS).filter(
    (pattern) => pattern === 'steady' || pattern === 'bursts' || pattern === 'none' || isApt(scene, pattern),
  )
const isApt = (scene: Scene, pattern: Pattern): boolean => hasWindow(scene) || (scene === 'slots' && pattern !== 'edge')

/** How long a request takes. */
const takesField = (choices: { takes: Choices['takes'] }): VNode => (
  <label class="pg-field">
    <span>A request takes, s</span>
    <input
      type="number"
      inputmode="decimal"
      min={0.1}
      max={MOST_TAKEN}
      step="any"
      value={choices.takes}
      onInput={(event) => {
        choices.takes = Math.min(Number(textOf(event)), MOST_TAKEN)
      }}
    />
  </label>
)

/** The form: quota, traffic, algorithms. */
export function controls({ choices, problem }: Playground): VNode {
  const { scene } = choices
  const isWindowed = hasWindow(scene)
  type NumberName = Exclude<keyof Numbers, 'unit'> | 'limit2' | 'every2' | 'fixed'
  const numberField = (name: NumberName, label: string, least: number): VNode => (
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
  const unitField = (name: 'unit' | 'unit2', label: string): VNode => (
    <label class="pg-field">
      <span>{label}</span>
      <select
        value={choices[name]}
        onChange={(event) => {
          choices[name] = textOf(event) as Numbers['unit']
        }}
      >
        {keysOf(UNITS).map((unit) => (
          <option key={unit} value={unit}>
            {UNITS[unit]}
          </option>
        ))}
      </select>
    </label>
  )
  const uses = (id: AlgorithmId): boolean =>
    choices.scene === 'algorithms' ? choices.shown.includes(id) : isWindowed && id === 'token'
  const mainFields = (): readonly VNode[] => {
    if (scene === 'shedding') return [numberField('fixed', 'The fixed limit', 1)]
    if (scene === 'slots') return [numberField('limit', 'Slots', 1), takesField(choices)]
    return [numberField('limit', 'Units', 1), numberField('every', 'every', 1), unitField('unit', 'unit of time')]
  }
  return (
    <form class="pg-controls" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>{isWindowed ? 'Quota' : 'Limit'}</legend>
        <div class="pg-fields">
          {mainFields()}
          {uses('token') && (
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
          {uses('interval') && numberField('portions', 'Portions', 1)}
          {uses('leaky') && numberField('queue', 'Queue', 0)}
        </div>
        {choices.scene === 'policies' && (
          <div class="pg-fields pg-second">
            {numberField('limit2', 'And units', 1)}
            {numberField('every2', 'every', 1)}
            {unitField('unit2', 'unit of time')}
          </div>
        )}
        {problem.value !== '' && (
          <p class="pg-problem" role="alert">
            {problem.value} The last valid numbers are shown.
          </p>
        )}
      </fieldset>
      <fieldset>
        <legend>Traffic</legend>
        <div class="pg-chips">
          {patternsOf(scene).map((pattern) => (
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
              {UNIT_OF_LOAD[scene] ?? 'the quota'}
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
        <legend>Compare</legend>
        <div class="pg-chips">
          {keysOf(SCENES).map((scene) => (
            <label key={scene} class="pg-chip">
              <input
                type="radio"
                name="scene"
                value={scene}
                checked={choices.scene === scene}
                onChange={() => {
                  choices.scene = scene
                  // So much that the lanes differ.
                  choices.load = LOADS[scene] ?? 3
                  if (!patternsOf(scene).includes(choices.pattern)) choices.pattern = 'steady'
                }}
              />
              <span>{SCENES[scene]}</span>
            </label>
          ))}
        </div>
        {choices.scene === 'algorithms' ? (
          <div class="pg-chips pg-second">
            {ALGORITHM_IDS.map((id) => (
              <label key={id} class="pg-chip">
                <input
                  type="checkbox"
                  checked={choices.shown.includes(id)}
                  onChange={(event) => {
                    const wanted = (event.target as HTMLInputElement).checked
                    choices.shown = ALGORITHM_IDS.filter((each) =>
                      each === id ? wanted : choices.shown.includes(each),
                    )
                  }}
                />
                <span>{ALGORITHMS[id].name}</span>
              </label>
            ))}
          </div>
        ) : (
          <p class="pg-caption pg-second">{EXPLAINED[choices.scene]}</p>
        )}
      </fieldset>
    </form>
  )
}
