import { inFlight } from '@spillway/core/in-flight'
import type { Act } from '../act.ts'
import { onPostgres } from '../postgres/draw.ts'
import type { Random } from '../runtime/random.ts'
import type { Fault, Scenario } from '../scenario.ts'
import { type Setting, slowQuota } from '../setting.ts'

/** Draws what goes wrong in a run with slots that are held for `ttl` microseconds. */
type Plan = (random: Random, setting: Setting, ttl: number) => readonly Fault[]

interface Kinds {
  readonly kinds: readonly string[]
  /** How long one lasts, as parts of the time to live. */
  readonly parts: readonly number[]
}

const drawn =
  ({ kinds, parts }: Kinds): Plan =>
  (random, { span }, ttl) =>
    Array.from({ length: random.between(1, 6) }, () => ({
      kind: random.pick(kinds),
      at: random.below(span),
      micros: Math.floor(Math.min(ttl * random.pick(parts), 40_000_000) * (0.9 + random.float() / 5)),
      size: random.float(),
      target: random.below(1_000),
    }))

const PAUSED: readonly string[] = ['paused process', 'sleeping machine']
const CUT_OFF: readonly string[] = ['network partition', 'frozen server', 'slow network']
const LOST: readonly string[] = ['lost replies', 'broken connections', 'killed process']
const CLOCKS: readonly string[] = ['wall clock step', 'server clock step']
const FORGOTTEN: readonly string[] = ['failover', 'killed server', 'eviction']
const OFTEN = [0.1, 0.4, 0.9, 1.2, 3]

const PLANS: readonly Plan[] = [
  () => [],
  () => [],
  drawn({ kinds: ['wall clock step'], parts: [0.1] }),
  drawn({ kinds: ['wall clock step', 'killed process'], parts: [0.1, 0.5] }),
  drawn({ kinds: PAUSED, parts: [0.2, 0.9, 1.2, 3] }),
  drawn({ kinds: ['killed process', 'paused process', 'stalled event loop'], parts: OFTEN }),
  drawn({ kinds: CUT_OFF, parts: OFTEN }),
  drawn({ kinds: LOST, parts: OFTEN }),
  drawn({ kinds: CLOCKS, parts: [1] }),
  drawn({ kinds: [...PAUSED, ...CUT_OFF, ...LOST, ...CLOCKS, ...FORGOTTEN], parts: OFTEN }),
]

function drawCall(random: Random, inLine: number, mayReset: boolean): Act['does'] {
  const call = random.chance(0.15) ? 'request' : random.chance(inLine) ? 'acquireInLine' : 'acquire'
  return mayReset && random.chance(0.05) ? 'reset' : call
}

/** When a burst begins, or another time. */
const drawTime = (random: Random, bursts: readonly number[], span: number): number =>
  Math.max(random.chance(0.8) ? random.pick(bursts) + Math.floor(random.spread(5_000)) : random.below(span), 0)

/** What callers of slots do: most in one key, at the same times. */
function drawActs(random: Random, setting: Setting, ttl: number): readonly Act[] {
  const { span, processes, handles, servers, keys, quota } = setting
  const bursts = Array.from({ length: random.between(2, 10) }, () => random.below(span))
  const longest = Math.min(random.pick([0.1, 0.5, 2]) * ttl, 10_000_000)
  const inLine = random.pick([0.2, 0.5, 0.9])
  const mayReset = setting.rate === undefined && random.chance(0.1)
  return Array.from({ length: random.pick([10, 30, 60]) }, (): Act => {
    const does = drawCall(random, inLine, mayReset)
    const laterMicros = Math.floor(random.spread(longest / 2))
    return {
      does,
      at: drawTime(random, bursts, span),
      process: random.below(processes),
      handle: random.below(handles),
      server: random.below(servers),
      key: random.chance(0.8) ? 0 : random.below(keys),
      cost: random.chance(0.85) ? 1 : random.between(1, quota.limit),
      times: random.chance(0.2) ? random.between(2, 5) : 1,
      maxWaitMs: does === 'request' ? random.pick([0, 50]) : random.pick([50, 500, 3_000]),
      laterMicros,
      actual: random.pick([0, 1]),
      releases: random.pick([1, 1, 1, 2, random.chance(0.2) ? 0 : 1]),
      ...(random.chance(0.25) ? { leavesMicros: Math.floor(random.spread(random.pick([1_000, 300_000]))) } : {}),
    }
  }).sort((a, b) => a.at - b.at)
}

/** Makes of a setting a run of slots. */
export function withSlots(seed: number, drawn: Setting, random: Random): Scenario {
  const ttlMs = random.pick([1_000, 1_000, 3_000, 30_000, 600_000])
  const rate = random.chance(0.2) ? { rate: slowQuota(random) } : {}
  const quota = inFlight(random.between(1, 4), { ttl: ttlMs })
  const keys = random.between(1, 2)
  const setting: Setting = { ...drawn, quota, keys, isSlow: false, lease: undefined, span: 5_000_000, ...rate }
  const acts = drawActs(random, setting, ttlMs * 1000)
  const faults = random.pick(PLANS)(random, setting, ttlMs * 1000)
  const ends = acts.map(
    ({ at, laterMicros, releases = 1, maxWaitMs }) => at + laterMicros * releases + maxWaitMs * 1000,
  )
  const span = Math.max(setting.span, ...ends)
  const scenario = { seed, setting: { ...setting, span }, acts, faults: [...faults].sort((a, b) => a.at - b.at) }
  return random.chance(0.4) ? onPostgres(scenario, random.fork()) : scenario
}
