import { tokenBucket } from '@spillway/core'
import type { Act } from './act.ts'
import type { Random } from './runtime/random.ts'
import type { Fault, Scenario } from './scenario.ts'
import type { Setting } from './setting.ts'
import { ONE } from './themes.ts'

/** A run whose faults come at a known time of a call: each message takes as long as the one before, and no clock drifts. */
type TimedTheme = (random: Random) => {
  readonly setting: Partial<Setting>
  readonly acts: readonly Act[]
  readonly faults?: readonly Omit<Fault, 'target'>[] | readonly Fault[]
}

const QUIET: Partial<Setting> = {
  processes: 1,
  drifts: [0, 0],
  handles: 1,
  servers: 1,
  keys: 2,
  denyCache: false,
  lease: undefined,
  coalesce: true,
  onStoreError: 'local',
  replicas: 1,
  deadlineMs: 50,
  connections: 1,
  resends: false,
  baseMicros: 200,
  jitterMicros: 0,
  span: 20_000_000,
}

/** What is added to each message of a slow network: `size` is a part of it. */
const SLOWEST = 200_000

const roundsOf = (count: number, apart: number): readonly number[] => Array.from({ length: count }, (_, i) => i * apart)

/** A quota of which no unit is back within a run. */
const slow = (limit: number): Partial<Setting> => ({ isSlow: true, quota: tokenBucket({ limit, per: '1000d' }) })

/** All themes by their names. A new one changes which seeds have which. */
const THEMES: Readonly<Record<string, TimedTheme>> = {
  // By the time of the answer, the bucket has refilled the lease, and another process consumes all.
  'leases that are answered late': (random) => {
    const limit = random.between(20, 40)
    const rounds = roundsOf(6, 1_500_000).map((at) => ({ at, size: 0.5 + random.float() / 2 }))
    const acts = rounds.flatMap(({ at, size }): readonly Act[] => {
      const asked = at + 200_000
      const answered = asked + 400 + Math.floor(size * SLOWEST)
      return [
        ...Array.from({ length: 20 }, (_, i): Act => ({ ...ONE, at: at + i * 2_000 })),
        { ...ONE, at: asked },
        { ...ONE, at: answered + 500, process: 1, cost: limit },
        { ...ONE, at: answered + random.between(1_500, 4_000), times: 20 },
      ]
    })
    const faults = rounds.map(({ at, size }) => ({ kind: 'slow network', at: at + 200_100, micros: 1_000, size }))
    const quota = tokenBucket({ limit, per: '50ms' })
    const shape = { processes: 2, isSlow: false, quota, lease: random.between(10, 40), deadlineMs: 500 }
    return { setting: shape, acts, faults }
  },
  // A reservation is settled at more than its cost, and the store makes the charge when its deadline has passed.
  'charges that are answered late': (random) => {
    const rounds = roundsOf(10, 1_200_000)
    const acts = rounds.map((at): Act => {
      const cost = random.between(1, 3)
      return { ...ONE, does: 'reserve', at, cost, actual: cost + 1, laterMicros: 100_000 }
    })
    const faults = rounds.map((at) => {
      return { kind: 'slow network', at: at + 100_000, micros: 20_000, size: 0.5 + random.float() / 2 }
    })
    return { setting: { ...slow(60), onStoreError: random.pick(['local', 'deny', 'throw']) }, acts, faults }
  },
  // The first store answers just before the deadline, and the second one after it.
  'stores that answer one after the other': (random) => {
    const rounds = roundsOf(10, 1_200_000)
    const acts = rounds.flatMap((at): readonly Act[] => [
      { ...ONE, does: 'both', at, cost: random.between(1, 3) },
      { ...ONE, at: at + 800_000, server: 1 },
    ])
    const faults = rounds.flatMap((at): readonly Fault[] => [
      { kind: 'slow network', at: at - 100, micros: 250_000, size: 0.1 + random.float() / 100, target: 0 },
      { kind: 'network partition', at: at - 100, micros: 300_000, size: 0, target: 1 },
    ])
    return { setting: { ...slow(80), servers: 2, onStoreError: random.pick(['deny', 'throw']) }, acts, faults }
  },
  'resets in the tick of other calls': (random) => {
    const acts = roundsOf(20, 200_000).flatMap((at): readonly Act[] => [
      { ...ONE, at, times: random.between(1, 8), key: random.below(2) },
      { ...ONE, at, does: random.chance(0.7) ? 'reset' : 'resetAll' },
    ])
    return { setting: { ...slow(60), lease: random.chance(0.3) ? 10 : undefined }, acts }
  },
  'releases while a lease is taken': (random) => {
    const acts = roundsOf(12, 300_000).flatMap((at): readonly Act[] => [
      ...Array.from({ length: random.between(2, 8) }, (_, i): Act => ({ ...ONE, at: at + i * 1_000 })),
      { ...ONE, at: at + 50_000, times: random.between(1, 4) },
      { ...ONE, does: 'release', at: at + 50_000 + random.between(50, 390) },
    ])
    return { setting: { ...slow(200), lease: random.between(4, 40) }, acts }
  },
  // The process stands still before the call is sent, for longer than its deadline.
  'stalls in the tick of a call': (random) => {
    const rounds = roundsOf(8, 2_000_000)
    const acts = rounds.map((at): Act => ({ ...ONE, at, key: random.below(2) }))
    const faults = rounds.map((at) => {
      return { kind: 'stalled event loop', at, micros: random.between(52_000, 400_000), size: 0 }
    })
    return { setting: slow(60), acts, faults }
  },
  'a hash slot that moves': (random) => {
    const acts = roundsOf(20, random.between(20_000, 60_000)).flatMap((at) =>
      [0, 1].map((key): Act => ({ ...ONE, at: at + 100_000, key })),
    )
    return { setting: slow(60), acts, faults: [{ kind: 'moving slot', at: 90_000, micros: 2_000_000, size: 0 }] }
  },
}

const THEME_NAMES: readonly string[] = Object.keys(THEMES)

/** Makes of some runs one with such a theme. */
export function timed(scenario: Scenario, random: Random): Scenario {
  if (random.chance(0.9)) return scenario
  const { setting, acts, faults = [] } = (THEMES[random.pick(THEME_NAMES)] as TimedTheme)(random)
  return {
    ...scenario,
    setting: { ...scenario.setting, ...QUIET, ...setting },
    acts: [...acts].sort((a, b) => a.at - b.at),
    faults: faults.map((fault): Fault => ({ target: 0, ...fault })).sort((a, b) => a.at - b.at),
  }
}
