import { type Micros, QuotaError } from '@spillway/core'
import { computed, nextTick, type Ref, reactive, ref, type ShallowRef, shallowRef, watch } from 'vue'
import type { Run } from './app.ts'
import type { LaneKind } from './lane-kind.ts'
import { check, demandOf, laneKinds } from './lanes.ts'
import { type Choices, choicesOf, DEFAULTS, momentOf } from './link.ts'
import { type Summary, summaryOf } from './summary.ts'
import { type Arrival, type Traffic, trafficOf } from './traffic.ts'

/** The result of one lane, or why its numbers are invalid. */
export interface Lane {
  readonly kind: LaneKind
  readonly result: { readonly run: Run; readonly summary: Summary } | { readonly problem: string }
}

/** The playground's state, and everything computed from it. */
export interface Playground {
  readonly choices: { -readonly [K in keyof Choices]: Choices[K] }
  /** The current time, since the start of the run. It is never after the end of the run: a later one is shown as the end. */
  readonly at: Ref<Micros>
  readonly own: ShallowRef<readonly Arrival[]>
  readonly window: Ref<Micros>
  /** Why the limit or the window is invalid: the lanes then show the last valid ones. Empty if they are valid. */
  readonly problem: Ref<string>
  readonly traffic: Ref<Traffic>
  /** What the dashed lines of the drawings are; empty if there are none. */
  readonly dashed: Ref<string>
  readonly lanes: Ref<readonly Lane[]>
  /** Applies a link: its choices, and then its clicks and its time, which the choices reset. */
  open(link: string): Promise<void>
  /** Sends a request at the current time. Resolves when it is answered. */
  send(cost: number): Promise<void>
}

/** The numbers that all lanes and the traffic need. */
type Shared = Pick<Choices, 'limit' | 'every' | 'unit' | 'takes' | 'fixed'>

/** The lane whose responses and code are shown. */
export const pickedLane = ({ lanes, choices }: Pick<Playground, 'lanes' | 'choices'>): Lane | undefined =>
  lanes.value.find(({ kind }) => kind.id === choices.picked) ?? lanes.value[0]

export function playground(): Playground {
  const choices = reactive({ ...DEFAULTS })
  const own = shallowRef<readonly Arrival[]>([])

  const problem = computed(() => problemOf(() => check(choices)))
  const shared = computed((before: Shared = DEFAULTS): Shared => {
    const { limit, every, unit, takes, fixed } = choices
    return problem.value === '' ? { limit, every, unit, takes, fixed } : before
  })
  const demand = computed(() => demandOf({ ...choices, ...shared.value }))
  const window = computed(() => demand.value.window)
  const traffic = computed((): Traffic => {
    const { arrivals, span, truncated } = trafficOf(demand.value)
    const mine = own.value.filter((each) => each.at <= span)
    return { arrivals: [...arrivals, ...mine].sort((a, b) => a.at - b.at), span, truncated }
  })
  // The end of the run depends on most choices, and a link can have any time. So each reader gets a time within the run,
  // whatever was set. The time that was set is kept: it is shown again after a limit that was high only while it was typed.
  const chosen = ref(0)
  const at = computed({
    get: (): Micros => Math.min(chosen.value, traffic.value.span),
    set: (moment) => {
      chosen.value = moment
    },
  })
  const started = computed(() => {
    const known = { ...choices, ...shared.value }
    return laneKinds(known).map((kind) => ({ kind, run: attempt(() => kind.run(traffic.value)) }))
  })
  const laneOf = (kind: LaneKind, run: Run | string): Lane => ({
    kind,
    result: typeof run === 'string' ? { problem: run } : { run, summary: summaryOf(run, window.value) },
  })
  // Lanes whose store is remote are answered later: until then, those before are shown.
  const later = shallowRef<readonly Lane[]>([])
  let answered = Promise.resolve()
  watch(
    started,
    (current) => {
      if (!current.some(({ run }) => run instanceof Promise)) return
      answered = Promise.all(current.map(async ({ kind, run }) => laneOf(kind, await run))).then((lanes) => {
        if (started.value === current) later.value = lanes
      })
    },
    { immediate: true },
  )
  const lanes = computed((): readonly Lane[] => {
    const now = started.value.flatMap(({ kind, run }) => (run instanceof Promise ? [] : [laneOf(kind, run)]))
    return now.length === started.value.length ? now : later.value
  })

  // New traffic starts a new run, without the requests that the visitor sent into the last one.
  watch(
    () => [choices.pattern, window.value],
    () => {
      own.value = []
      at.value = choices.pattern === 'none' ? 0 : firstDenial(lanes.value, window.value)
    },
  )
  at.value = firstDenial(lanes.value, window.value)
  const send = async (cost: number): Promise<void> => {
    // The player's times are fractions of a microsecond.
    at.value = Math.round(at.value)
    own.value = [...own.value, { at: at.value, client: 'you', cost, own: true }]
    await nextTick()
    await answered
  }
  const open = async (link: string): Promise<void> => {
    Object.assign(choices, choicesOf(link))
    await nextTick()
    const { clicks, moment } = momentOf(link)
    if (clicks.length > 0) own.value = clicks
    if (moment !== undefined) at.value = moment
  }
  const dashed = computed(() => {
    const lines = lanes.value.flatMap(({ result }) => ('run' in result ? result.run.lines.slice(1) : []))
    return [...new Set(lines.flatMap(({ name, isLimit }) => (isLimit ? [] : name)))].join(', ')
  })
  return { choices, own, at, window, problem, traffic, dashed, lanes, open, send }
}

/** The message of core's error for invalid numbers; empty without one. */
function problemOf(make: () => unknown): string {
  const result = attempt(make)
  return typeof result === 'string' ? result : ''
}

/** A result, or the message of core's error for invalid numbers. */
function attempt<T>(make: () => T): T | string {
  try {
    return make()
  } catch (error) {
    if (error instanceof QuotaError) return error.message
    throw error
  }
}

/** The time to show first: a denial, if possible after the beginning. */
function firstDenial(lanes: readonly Lane[], window: Micros): Micros {
  const moments = lanes
    .flatMap(({ result }) => ('run' in result ? result.run.answers : []))
    .filter(({ decision }) => !decision.allowed)
    .map(({ arrival }) => arrival.at)
    .sort((a, b) => a - b)
  return moments.find((moment) => moment > 0.8 * window) ?? moments[0] ?? 0
}
