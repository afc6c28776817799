import { fixedWindow, penalty, type Quota, slidingLog, slidingWindow, tokenBucket, warmingUp } from '@spillway/core'
import { type Act, mostUnits } from './act.ts'
import type { Random } from './runtime/random.ts'
import type { Scenario } from './scenario.ts'
import { slowQuota } from './setting.ts'

/** Makes of a run another one, with more of what brings out a kind of defect. */
type Theme = (scenario: Scenario, random: Random) => Scenario

export const ONE: Act = {
  does: 'consume',
  at: 0,
  process: 0,
  handle: 0,
  server: 0,
  key: 0,
  cost: 1,
  times: 1,
  maxWaitMs: 0,
  laterMicros: 0,
  actual: 0,
}

const quotas: readonly ((random: Random) => Quota)[] = [
  (random) => slidingWindow({ limit: random.between(3, 40), window: '1s' }),
  (random) => slidingLog({ limit: random.between(3, 40), window: '1s' }),
  (random) => fixedWindow({ limit: random.between(3, 40), window: '1s' }),
  (random) => fixedWindow({ limit: random.between(3, 40), window: '1s', align: 'first' }),
  (random) => warmingUp({ limit: random.between(3, 40), per: '1s', warmUpPeriod: '4s' }),
  (random) => penalty({ after: random.between(3, 20), within: '1s', block: '2s', grow: 2, max: '8s' }),
]

/** All themes by their names. A new one changes which seeds have which. */
const THEMES: Readonly<Record<string, Theme>> = {
  'another algorithm': ({ setting, acts, ...rest }, random) => {
    const quota = random.pick(quotas)(random)
    const most = Math.max(Math.floor(mostUnits(quota) / 2), 1)
    const fitting = acts.map((act) => ({ ...act, cost: Math.min(act.cost, most), retries: random.chance(0.5) }))
    return { ...rest, setting: { ...setting, quota, isSlow: false }, acts: fitting }
  },
  'requests over HTTP': ({ acts, ...rest }, random) => ({
    ...rest,
    acts: acts.map((act) =>
      act.does === 'consume' && random.chance(0.5) ? { ...act, does: 'request', times: Math.min(act.times, 5) } : act,
    ),
  }),
  'quotas that are replaced': ({ setting, ...rest }, random) => {
    // Two and three divide the limit, so that its shares take as long to refill.
    const quota = tokenBucket({ limit: 6 * random.between(2, 6), per: '1000d' })
    const lease = random.chance(0.6) ? random.between(10, 40) : undefined
    const processes = random.chance(0.5) ? 1 : setting.processes
    const shape = { quota, isSlow: true, lease, processes, servers: 1, handles: 1, keys: 20 }
    const sent = { ...ONE, does: 'request', maxWaitMs: 50, actual: 1, laterMicros: 5_000 } as const
    const rounds = Array.from({ length: shape.keys }, (_, key) => ({ key, at: key * 200_000 }))
    const acts = rounds.flatMap(({ key, at }) =>
      [0, 20_000, 60_000, 80_000, 100_000].map((later): Act => {
        const times = random.between(1, later < 60_000 ? 4 : 20)
        return { ...sent, key, at: at + later, process: random.below(processes), times }
      }),
    )
    const faults = rounds.map(({ at }) => {
      const [size, target] = [random.float(), random.below(1_000)]
      return { kind: 'replaced quota', at: at + 50_000, micros: 0, size, target }
    })
    return { ...rest, setting: { ...setting, ...shape }, acts, faults }
  },
  'clients that retry': ({ acts, ...rest }, random) => ({
    ...rest,
    acts: acts.map((act) => (act.does === 'consume' ? { ...act, retries: random.chance(0.7) } : act)),
  }),
  'refunds between denials': ({ setting, ...rest }, random) => {
    const rounds = Array.from({ length: 12 }, (_, i) => i * 150_000)
    const acts = rounds.flatMap((at): readonly Act[] => {
      const where = { key: random.below(setting.keys) }
      const near = (): number => at + random.below(10_000)
      return [
        { ...ONE, ...where, at, times: 20 },
        ...Array.from({ length: 6 }, (): Act => ({ ...ONE, ...where, at: near() })),
        { ...ONE, ...where, at: near(), does: random.chance(0.3) ? 'reset' : 'refund', cost: random.between(7, 12) },
        ...Array.from({ length: 4 }, (): Act => ({ ...ONE, ...where, at: at + 40_000 + random.below(60_000) })),
      ]
    })
    const network = { connections: 3, baseMicros: 500, jitterMicros: 5_000, deadlineMs: 200 }
    const shape = { processes: 1, denyCache: '5s', lease: undefined } as const
    return { ...rest, setting: { ...setting, ...network, ...shape }, acts, faults: [] }
  },
  'leases and others': ({ setting, ...rest }, random) => {
    const isSlow = random.chance(0.6)
    const quota = isSlow
      ? slowQuota(random)
      : tokenBucket({ limit: random.between(300, 1_000), per: '1s', burst: random.between(30, 60) })
    const other = random.pick<Act['does']>(['peek', 'reset', 'reserve', 'consume'])
    const gap = random.pick([1_000, 3_000, 20_000])
    const processes = other === 'reset' ? 1 : setting.processes
    const acts = Array.from({ length: 150 }, (_, i): Act => {
      const does = random.chance(0.1) ? other : 'consume'
      // Pauses in which leases refill, and then all at once.
      const at = i * gap + Math.floor(i / 30) * 100_000
      const times = does === 'consume' && i % 30 === 29 ? 20 : 1
      return { ...ONE, does, at, process: random.below(processes), cost: random.between(1, 2), times }
    })
    const bursts = acts.flatMap((act) =>
      act.times > 1 ? Array.from({ length: processes }, (_, process): Act => ({ ...act, process, cost: 1 })) : [],
    )
    const shape = { processes, handles: 1, servers: 1, lease: random.between(10, 40), quota, isSlow, keys: 1 }
    return {
      ...rest,
      setting: { ...setting, ...shape },
      acts: [...acts, ...bursts].sort((a, b) => a.at - b.at),
      faults: [],
    }
  },
  'late cancellations': ({ setting, ...rest }, random) => {
    const limit = random.between(10, 40)
    const cost = Math.ceil(limit / 4)
    const acts = Array.from({ length: 8 }, (_, i) => i * 2_500_000).flatMap((at): readonly Act[] => [
      { ...ONE, does: 'reserve', at, cost, laterMicros: 400_000 + random.below(100_000) },
      { ...ONE, at: at + 350_000, cost: random.between(1, limit) },
      { ...ONE, at: at + 520_000, times: limit + 5 },
    ])
    const shape = { isSlow: false, lease: undefined, denyCache: false, servers: 1, handles: 1 } as const
    return {
      ...rest,
      setting: { ...setting, ...shape, quota: tokenBucket({ limit, per: '1s' }), span: 20_000_000 },
      acts,
      faults: [],
    }
  },
  'turns in a queue': ({ setting, ...rest }, random) => {
    const acts = Array.from({ length: 40 }, (_, i): Act => {
      const at = i * 20_000
      const wait = {
        does: 'wait',
        maxWaitMs: 3_000 * 86_400_000,
        laterMicros: 1_500_000 - at + random.below(3_000_000),
      } as const
      return { ...ONE, at, ...(random.chance(0.6) ? wait : {}) }
    })
    const shape = { processes: 1, handles: 1, isSlow: true, lease: undefined, connections: 1 }
    return { ...rest, setting: { ...setting, ...shape, quota: slowQuota(random), drifts: [0] }, acts, faults: [] }
  },
  'stalls until the deadline': ({ setting, ...rest }, random) => {
    const ends = Array.from({ length: 60 }, (_, i) => 100_000 + i * 300_000 + random.below(1_000))
    // The first call makes the server know the script.
    const acts = [0, ...ends].map((at): Act => ({ ...ONE, at, key: random.below(setting.keys) }))
    const faults = ends.map((at) => {
      // The call has been sent.
      const begins = at + 100 + random.below(200)
      // Timers are whole milliseconds: one may fire less than a millisecond before the deadline.
      const micros = at + 49_200 + random.below(1_000) - begins
      return { kind: 'stalled event loop', at: begins, micros, size: 0, target: 0 }
    })
    const network = { baseMicros: 500, jitterMicros: 200, deadlineMs: 50, span: 20_000_000 }
    return { ...rest, setting: { ...setting, ...network }, acts, faults }
  },
}

const THEME_NAMES: readonly string[] = Object.keys(THEMES)

/** Half of the runs have a theme. */
export function themed(scenario: Scenario, random: Random): Scenario {
  if (random.chance(0.5)) return scenario
  return (THEMES[random.pick(THEME_NAMES)] as Theme)(scenario, random)
}
