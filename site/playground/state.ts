import { type Micros, QuotaError } from '@spillway/core'
import { computed, nextTick, type Ref, reactive, ref, type ShallowRef, shallowRef, watch } from 'vue'
import { ALGORITHM_IDS, ALGORITHMS, type AlgorithmId, windowOf } from './algorithms.ts'
import { type Choices, choicesOf, DEFAULTS, momentOf } from './link.ts'
import { type Run, run } from './run.ts'
import { type Summary, summaryOf } from './summary.ts'
import { type Arrival, type Traffic, trafficOf } from './traffic.ts'

/** The result of one algorithm, or why its numbers are invalid. */
export interface Lane {
  readonly id: AlgorithmId
  readonly result: { readonly run: Run; readonly summary: Summary } | { readonly problem: string }
}

/** The playground's state, and everything computed from it. */
export interface Playground {
  readonly choices: { -readonly [K in keyof Choices]: Choices[K] }
  /** The current time, since the start of the run. */
  readonly at: Ref<Micros>
  readonly own: ShallowRef<readonly Arrival[]>
  readonly window: Ref<Micros>
  readonly traffic: Ref<Traffic>
  readonly lanes: Ref<readonly Lane[]>
  /** Applies a link: its choices, and then its clicks and its time, which the choices reset. */
  open(link: string): Promise<void>
  /** Sends a request at the current time. */
  send(cost: number): void
}

const NOBODY: Traffic = { arrivals: [], span: 1, truncated: false }

export function playground(): Playground {
  const choices = reactive({ ...DEFAULTS })
  const own = shallowRef<readonly Arrival[]>([])
  const at = ref(0)

  const window = computed(() => {
    try {
      return windowOf(choices)
    } catch {
      return 0 // Each lane shows the error.
    }
  })
  const traffic = computed((): Traffic => {
    const { pattern, limit, load } = choices
    if (window.value === 0 || !(limit > 0)) return NOBODY
    const { arrivals, span, truncated } = trafficOf({ pattern, limit, load, window: window.value })
    const mine = own.value.filter((each) => each.at <= span)
    return { arrivals: [...arrivals, ...mine].sort((a, b) => a.at - b.at), span, truncated }
  })
  const lanes = computed(() =>
    ALGORITHM_IDS.filter((id) => choices.shown.includes(id)).map((id): Lane => {
      try {
        const result = run(ALGORITHMS[id].quota(choices), traffic.value, choices)
        return { id, result: { run: result, summary: summaryOf(result, window.value) } }
      } catch (error) {
        if (error instanceof QuotaError) return { id, result: { problem: error.message } }
        throw error
      }
    }),
  )

  // New traffic starts a new run, without the requests that the visitor sent into the last one.
  watch(
    () => [choices.pattern, window.value],
    () => {
      own.value = []
      at.value = choices.pattern === 'none' ? 0 : firstRefusal(lanes.value, window.value)
    },
  )
  at.value = firstRefusal(lanes.value, window.value)
  const send = (cost: number): void => {
    // The player's times are fractions of a microsecond.
    at.value = Math.round(at.value)
    own.value = [...own.value, { at: at.value, client: 'you', cost, own: true }]
  }
  const open = async (link: string): Promise<void> => {
    Object.assign(choices, choicesOf(link))
    await nextTick()
    const { clicks, moment } = momentOf(link)
    if (clicks.length > 0) own.value = clicks
    if (moment !== undefined) at.value = moment
  }
  return { choices, own, at, window, traffic, lanes, open, send }
}

/** The time to show first: a denial, if possible after the beginning. */
function firstRefusal(lanes: readonly Lane[], window: Micros): Micros {
  const moments = lanes
    .flatMap(({ result }) => ('run' in result ? result.run.answers : []))
    .filter(({ decision }) => !decision.allowed)
    .map(({ arrival }) => arrival.at)
    .sort((a, b) => a - b)
  return moments.find((moment) => moment > 0.8 * window) ?? moments[0] ?? 0
}
