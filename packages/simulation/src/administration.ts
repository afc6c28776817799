import type { Act } from './act.ts'
import type { Random } from './runtime/random.ts'
import type { Scenario } from './scenario.ts'
import { ONE } from './themes.ts'

const KINDS: readonly Act['does'][] = ['list', 'resetAll', 'sweep']

/** A pause after which rows of quotas that refill have expired. */
const PAUSE = 900_000_000

/** Adds to some runs what operators do: they list keys, reset all, and sweep expired rows, also after a long pause. */
export function administered({ setting, acts, faults, ...rest }: Scenario, random: Random): Scenario {
  if (random.chance(0.8)) return { setting, acts, faults, ...rest }
  const { span, processes, handles, servers } = setting
  const kinds = KINDS.filter(() => random.chance(0.7))
  const added = Array.from({ length: kinds.length * random.between(1, 4) }, (): Act => {
    const where = { process: random.below(processes), handle: random.below(handles), server: random.below(servers) }
    return { ...ONE, ...where, does: random.pick(kinds), at: random.below(span) }
  })
  const isAll = random.chance(0.5)
  const own = acts.map((act): Act => (isAll && act.does === 'reset' ? { ...act, does: 'resetAll' } : act))
  const pause = random.chance(0.4) ? PAUSE : 0
  const shifted = <T extends { readonly at: number }>(all: readonly T[]): readonly T[] =>
    all.map((each) => (each.at < span / 2 ? each : { ...each, at: each.at + pause })).sort((a, b) => a.at - b.at)
  return {
    ...rest,
    setting: { ...setting, span: span + pause },
    acts: shifted([...own, ...added]),
    faults: shifted(faults),
  }
}
