import type { Quota } from '@spillway/core'
import type { Random } from './runtime/random.ts'
import type { Setting } from './setting.ts'

/** What a process is asked to do, at a time. */
export interface Act {
  readonly does:
    | 'consume'
    | 'peek'
    | 'refund'
    | 'charge'
    | 'reserve'
    | 'request'
    | 'wait'
    | 'upTo'
    | 'reset'
    | 'both'
    | 'release'
    | 'list'
    | 'resetAll'
    | 'sweep'
    | 'acquire'
    | 'acquireInLine'
  /** In microseconds since the start. */
  readonly at: number
  readonly process: number
  readonly handle: number
  readonly server: number
  readonly key: number
  readonly cost: number
  /** Whether a call that is denied is made again after its wait. */
  readonly retries?: boolean
  /** How many calls are made in the same tick. */
  readonly times: number
  /** The longest wait for a turn, in milliseconds. */
  readonly maxWaitMs: number
  /** When a reservation is settled, or a wait is aborted, in microseconds after the call. */
  readonly laterMicros: number
  /** What a reservation really costs. */
  readonly actual: number
  /** How often slots are released, `laterMicros` after they were acquired: once, unless it is given. */
  readonly releases?: number
  /** When the caller of slots leaves, in microseconds after the call. */
  readonly leavesMicros?: number
}

const KINDS: readonly Act['does'][] = [
  ...Array.from({ length: 12 }, () => 'consume' as const),
  'peek',
  'refund',
  'charge',
  'reserve',
  'reserve',
  'reserve',
  'wait',
  'wait',
  'upTo',
  'reset',
  'both',
  'both',
  'release',
]

/** The most units that one call can consume. */
export const mostUnits = (quota: Quota): number => (quota.kernel === 'warm-up' ? quota.burst : quota.limit)

/** Draws the acts of a run. They come in bursts, as requests do: most within a few milliseconds of the one before. */
export function drawActs(random: Random, setting: Setting): readonly Act[] {
  const count = random.pick([10, 30, 60, 150])
  const kinds = KINDS.filter((kind) => random.chance(0.7) || kind === 'consume')
  const bursts = Array.from({ length: random.between(3, 30) }, () => random.below(setting.span))
  const limit = mostUnits(setting.quota)
  const acts = Array.from({ length: count }, (): Act => {
    const does = random.pick(kinds)
    const cost = random.chance(0.8) ? 1 : random.between(1, Math.max(Math.floor(limit / 2), 1))
    return {
      does,
      at: random.chance(0.7) ? random.pick(bursts) + Math.floor(random.spread(2_000)) : random.below(setting.span),
      process: random.below(setting.processes),
      handle: random.below(setting.handles),
      server: random.below(setting.servers),
      key: random.chance(0.8) ? 0 : random.below(setting.keys),
      cost,
      times: does === 'consume' && random.chance(0.3) ? random.between(2, 20) : 1,
      maxWaitMs: random.pick([0, 50, 500, 3_000]),
      laterMicros: Math.floor(random.spread(random.pick([5_000, 200_000, 2_000_000]))),
      actual: random.pick([0, 0, cost, Math.floor(cost / 2), cost + 1]),
    }
  })
  return acts.sort((a, b) => a.at - b.at)
}
