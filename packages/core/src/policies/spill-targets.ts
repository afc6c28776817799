import { formatValue, QuotaError } from '../common/errors.ts'
import { guess } from '../common/guess.ts'

/** For each of several checks, the index of its spill policy; -1 if it has none. */
export type Targets = readonly number[]

interface Spilling {
  readonly name?: string
  readonly spill?: string
  readonly mode?: 'enforce' | 'shadow'
}

const policyName = ({ name = 'default' }: Spilling): string => name

/** Checks which of several policies spills over to which. A shadow denies nothing, and nothing is consumed from it. */
export function checkSpills(policies: readonly Spilling[]): void {
  const spilled = policies.filter(({ spill }) => spill !== undefined)
  const enforced = policies.filter(({ mode }) => mode !== 'shadow')
  if (spilled.length > 0) {
    checkSpill(Object.fromEntries(spilled.map((each) => [policyName(each), each.spill])), enforced.map(policyName))
  }
}

/** Checks which policy spills over to which, in one pass over them; `names` are those of all policies. */
export function checkSpill(spill: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const known = new Set<unknown>(names)
  const targets = new Map<unknown, unknown>(Object.entries(spill))
  const taken = new Set<unknown>()
  for (const [from, to] of targets) {
    for (const name of [from, to]) if (!known.has(name)) throw invalidSpill(unknownName(name, from, names))
    if (taken.has(to)) {
      throw invalidSpill(`two policies spill over to ${formatValue(to)}. Give each a spill policy of its own.`)
    }
    taken.add(to)
  }
  const followed = new Set<unknown>()
  const chainFrom = (first: unknown): readonly unknown[] => {
    const chain = [first]
    for (let next = first; targets.has(next) && !followed.has(next); chain.push(next)) {
      followed.add(next)
      next = targets.get(next)
    }
    return chain
  }
  for (const first of targets.keys()) {
    if (taken.has(first)) continue
    const { length } = chainFrom(first)
    if (length > MOST_IN_CHAIN) throw invalidSpill(tooLong(first, length))
  }
  // No two policies spill over to one: what no first policy leads to returns to itself.
  const inCycle = [...targets.keys()].find((from) => !followed.has(from))
  if (inCycle === undefined) return
  throw invalidSpill(
    `policy ${formatValue(inCycle)} spills over to itself, by ${chainFrom(inCycle).map(formatValue).join(' → ')}.`,
  )
}

/** A request that is denied asks the store once for each policy of a chain. */
const MOST_IN_CHAIN = 16

const tooLong = (first: unknown, length: number): string =>
  `policy ${formatValue(first)} starts a chain of ${length} policies, each asked after the one before has denied. A chain has at most ${MOST_IN_CHAIN}: give one policy the units of several.`

function unknownName(name: unknown, from: unknown, names: readonly string[]): string {
  const others = names.filter((each) => each !== from)
  const meant = typeof name === 'string' ? guess(name, others) : undefined
  return `spill names an enforced policy; there is none named ${formatValue(name)}. ${meant ?? `There are ${names.map(formatValue).join(', ')}.`}`
}

const invalidSpill = (problem: string): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', `${problem} Write spill: 'extra', the name of the policy that takes over.`)
