import type { Micros } from '@spillway/core'

/** A request that is sent to every algorithm. */
export interface Arrival {
  /** Time since the start of the run. */
  readonly at: Micros
  readonly client: Client
  readonly cost: number
  /** Sent by the visitor. */
  readonly own: boolean
}

export type Client = 'you' | 'flood'

export const PATTERNS = {
  steady: 'Steady',
  bursts: 'Bursts',
  edge: 'Window boundary',
  weighted: 'Weighted',
  attack: 'Attack',
  none: 'My clicks only',
} as const
export type Pattern = keyof typeof PATTERNS

/** The parameters of a traffic pattern. */
export interface Demand {
  readonly pattern: Pattern
  /** The limit of the quota. */
  readonly limit: number
  readonly window: Micros
  /** The demand as a multiple of the quota. */
  readonly load: number
}

/** The most requests of a run; a longer run is truncated to stay fast, and says so. */
export const MOST = 10_000
/** The length of a run in windows. */
const WINDOWS = 3

export interface Traffic {
  readonly arrivals: readonly Arrival[]
  readonly span: Micros
  /** Whether the pattern has more requests, after the end of the span. */
  readonly truncated: boolean
}

/** The traffic of a pattern: deterministic, in order of arrival. */
export function trafficOf(demand: Demand): Traffic {
  const span = WINDOWS * demand.window
  const arrivals = MAKERS[demand.pattern](demand, span)
    .filter(({ at }) => at < span)
    .sort((a, b) => a.at - b.at)
  const last = arrivals[MOST]
  return last === undefined
    ? { arrivals, span, truncated: false }
    : { arrivals: arrivals.slice(0, MOST), span: last.at, truncated: true }
}

type Maker = (demand: Demand, span: Micros) => Arrival[]

const MAKERS: Readonly<Record<Pattern, Maker>> = {
  none: () => [],
  steady: ({ limit, window, load }, span) => evenly(0, span, window / (limit * load)),
  bursts: ({ limit, window, load }, span) => {
    const [period, size] = [0.75 * window, Math.max(Math.round(0.75 * limit * load), 1)]
    const starts = Array.from({ length: Math.ceil(span / period) }, (_, i) => (i + 0.2) * period)
    return starts.flatMap((start) => together(start, 0.2 * window, size))
  },
  // The units of a window just before its end, and as many just after the next begins; then once more within a window.
  edge: ({ limit, window, load }) => {
    const size = Math.max(Math.round(limit * load), 1)
    return [0.85, 1.01, 2.35, 2.51].flatMap((start) => together(start * window, 0.14 * window, size))
  },
  weighted: ({ limit, window, load }, span) => {
    const random = seeded(4)
    const [some, many] = [Math.max(Math.round(limit / 5), 2), Math.max(Math.round(limit / 2), 2)]
    const costOf = (): number => {
      const dice = random()
      return dice < 0.6 ? 1 : dice < 0.85 ? some : many
    }
    const mean = 0.6 + 0.25 * some + 0.15 * many
    return evenly(0, span, (mean * window) / (limit * load)).map((each) => ({ ...each, cost: costOf() }))
  },
  // One client stays within the quota; then another one floods.
  attack: ({ limit, window, load }, span) => [
    ...evenly(0, span, window / (0.7 * limit)),
    ...evenly(0.8 * window, 1.9 * window, window / (4 * limit * load)).map(
      (each): Arrival => ({ ...each, client: 'flood' }),
    ),
  ],
}

const arrival = (at: number): Arrival => ({ at: Math.round(at), client: 'you', cost: 1, own: false })

function evenly(from: Micros, to: Micros, step: number): Arrival[] {
  const most = Math.min(Math.floor((to - from) / step), MOST + 1)
  return Array.from({ length: most }, (_, i) => arrival(from + (i + 0.5) * step))
}

/** `size` requests within `spread`. */
const together = (start: Micros, spread: Micros, size: number): Arrival[] =>
  Array.from({ length: Math.min(size, MOST + 1) }, (_, i) => arrival(start + (i / size) * spread))

/** Random numbers from 0 up to 1 that are the same at every visit: mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
