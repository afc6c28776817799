import { MOST_SCALE } from '../../packages/core/src/kernels/fraction.ts'
import { bucketStep, LATEST, LONGEST } from './bucket-model.ts'
import { Apart, type KernelName, type Language, type Ticks } from './languages.ts'
import type { Path } from './path.ts'
import { Carries } from './products.ts'
import type { Claims, Property } from './solver.ts'
import {
  atMost,
  type Bool,
  below,
  both,
  difference,
  either,
  equal,
  field,
  greater,
  implies,
  NULL,
  type Num,
  number,
  numberAt,
  type Obj,
  object,
  sameValue,
  UNDEFINED,
  type Value,
  ZERO,
} from './values.ts'

/** The numbers of a step and a state, of any size that a store may hold. */
export const MOST = LATEST + LONGEST

/** Unknown numbers by their names, each from the least to the most. */
export const inputs = (
  path: Path,
  prefix: string,
  ranges: Readonly<Record<string, readonly [number, number]>>,
): Record<string, Num> =>
  Object.fromEntries(
    Object.entries(ranges).map(([name, [least, most]]) => [name, path.input(`${prefix}_${name}`, least, most)]),
  )

const PARTS = [0, MOST_SCALE] as const
const free = [0, LONGEST] as const

/** The languages that are compared. */
export type Compared = readonly [one: Language, other: Language]

/** A value, of which each field has been evaluated. */
const evaluated = (value: Value): Value =>
  value.kind === 'object'
    ? object(Object.fromEntries(Object.entries(value.fields).map(([name, each]) => [name, evaluated(each)])))
    : value

/** Runs a function in both languages, and claims that the results are the same, and are exact where one of them is. */
export function compared(path: Path, [mine, others]: readonly [() => Obj, () => Obj]): Claims {
  const pairs = Object.entries((evaluated(mine()) as Obj).fields)
  const ranges = path.ranges.length
  const theirs = evaluated(others())
  return {
    ...Object.fromEntries(pairs.map(([name, value]) => [name, sameValue(value, field(theirs, name))])),
    'as exact': implies(both(...path.ranges.slice(0, ranges)), both(...path.ranges.slice(ranges))),
  }
}

/** Compares the outcomes of a kernel for a state and a step. */
export function comparedOutcomes(
  path: Path,
  languages: Compared,
  kernel: KernelName,
  state: Value,
  now: Num,
  step: Obj,
): Claims {
  const apart = new Apart(path)
  const run = (language: Language) => (): Obj => language(path, apart).outcome(kernel, state, now, step)
  return compared(path, [run(languages[0]), run(languages[1])])
}

export type StateOf = (path: Path) => Value

/** The states of a key. */
export const STATES: Readonly<Record<string, StateOf>> = {
  'a new key': () => UNDEFINED,
  'a number': (path) => path.input('state', -MOST, MOST),
  'a bucket with refunds': (path) => object(refundedOf(path)),
  'a bucket with parts of a microsecond': (path) => {
    const { early, ...parts } = partsOf(path, ['early'])
    const tat = path.input('tat', -MOST, MOST)
    const gross = path.name(greater(tat, difference(ZERO, tat)))
    return object({ tat, gross, turn: ZERO, ...parts, early: early as Num, grossEarly: early as Num })
  },
  'a bucket with refunds and parts of a microsecond': (path) =>
    object({ ...refundedOf(path), ...partsOf(path, ['early', 'grossEarly']) }),
}

const refundedOf = (path: Path): Record<string, Num> =>
  inputs(path, 'state', { tat: [-MOST, MOST], gross: [0, MOST], turn: [0, MOST] })

/** The parts of a microsecond of a state: fewer than make one. */
function partsOf(path: Path, names: readonly string[]): Record<string, Num> {
  const scale = path.input('state_scale', 2, MOST_SCALE)
  const parts = inputs(path, 'state', Object.fromEntries(names.map((name) => [name, PARTS])))
  path.assume(both(...Object.values(parts).map((each) => below(each, scale))))
  return { scale, ...parts }
}

/** The parts of a microsecond of a step: fewer than make one, and negative in a refund. */
function fractionOf(path: Path, increment: Num): Obj {
  const scale = path.input('scale', 2, MOST_SCALE)
  const least = {
    increment: [-MOST_SCALE, MOST_SCALE] as const,
    check: PARTS,
    tolerance: PARTS,
    burst: PARTS,
    until: PARTS,
  }
  const parts = inputs(path, 'parts', least)
  const part = parts['increment'] as Num
  const isRefund = below(increment, ZERO)
  path.assume(both(...[difference(ZERO, part), ...Object.values(parts)].map((each) => below(each, scale))))
  path.assume(both(either(isRefund, atMost(ZERO, part)), implies(isRefund, atMost(part, ZERO))))
  return object({ scale, ...parts })
}

/** The level of a new key, which has parts of a microsecond if the step has. */
function startOf(path: Path, fraction: Value): Obj {
  const early = fraction.kind === 'object' ? path.input('start_early', ...PARTS) : ZERO
  if (fraction.kind === 'object') path.assume(below(early, numberAt(fraction, 'scale')))
  return object({ ...inputs(path, 'start', { lacking: [1, LONGEST], keep: free }), early })
}

const NUMBERS = {
  increment: [-LONGEST, LONGEST],
  check: free,
  tolerance: free,
  ceiling: free,
  burst: free,
  maxWaitMicros: free,
  until: [0, Number.MAX_SAFE_INTEGER],
  ends: [0, MOST],
} as const

/** A step of a bucket that refills continuously: a refund, or another one. */
export function stepOf(path: Path, hasParts: boolean, hasStart: boolean): Obj {
  const { whole, ...numbers } = inputs(path, 'step', { ...NUMBERS, whole: [0, 1] })
  path.decide(below(numbers['increment'] as Num, ZERO))
  const fraction = hasParts ? fractionOf(path, numbers['increment'] as Num) : NULL
  const start = hasStart ? startOf(path, fraction) : NULL
  return bucketStep({ ...numbers, whole: equal(whole as Num, number(1)), fraction, start })
}

/** That the bucket kernel is the same in two languages, if it refills continuously. */
export function bucketEquality(one: Language, other: Language): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = {}
  const add = (hasParts: boolean, hasStart: boolean, states: readonly string[]): void => {
    const what = `${nameOf(hasParts)}${hasStart ? ' with initial units' : ''}`
    for (const state of states) {
      properties[`${what}, in the state of ${state}`] = (path) => {
        path.products = new Carries(path)
        const [found, now] = [(STATES[state] as StateOf)(path), path.input('now', 1, LATEST)]
        return bucketClaims(path, [one, other], found, now, stepOf(path, hasParts, hasStart))
      }
    }
  }
  const all = Object.keys(STATES)
  add(false, false, all)
  add(true, false, all)
  // A bucket starts as a new key's, whatever its state was, and when it does depends on no parts.
  add(false, true, ['a new key', 'a number', 'a bucket with refunds'])
  add(true, true, ['a new key'])
  for (const hasParts of [false, true]) {
    properties[`the state of ${nameOf(hasParts)} that is stored`] = (path) => {
      const step = stepOf(path, hasParts, false)
      const fraction = field(step, 'fraction')
      return storedClaims(path, [one, other], step, hasParts ? numberAt(fraction, 'scale') : number(1))
    }
  }
  return properties
}

const nameOf = (hasParts: boolean): string => `a bucket${hasParts ? ' of parts of a microsecond' : ''}`

/** Compares the states that are stored for any ticks. */
export function storedClaims(path: Path, [one, other]: Compared, step: Obj, scale: Num): Claims {
  const whole = inputs(path, 'tick', { tick: [0, 2 * MOST], gross: [0, 2 * MOST], turn: [0, 2 * MOST] })
  const parts = inputs(path, 'ticks', { early: PARTS, grossEarly: PARTS })
  path.assume(both(...Object.values(parts).map((each) => below(each, scale))))
  const [ticks, now] = [{ ...whole, ...parts } as Ticks, path.input('now', 1, LATEST)]
  const run = (language: Language) => (): Obj => object({ state: language(path).stateAt(ticks, now, step) })
  return compared(path, [run(one), run(other)])
}

/** Compares outcomes whose states are ticks, because `stateAt` is compared apart. */
export function bucketClaims(path: Path, [one, other]: Compared, state: Value, now: Num, step: Obj): Claims {
  const apart = new Apart(path)
  const ceiling = numberAt(step, 'ceiling')
  const found: Bool[] = []
  const run = (language: Language) => (): Obj => language(path, apart).outcome('bucket', state, now, step)
  const theirs = (): Obj => {
    const outcome = run(other)()
    const mine = field(run(one)(), 'kept')
    const kept = field(outcome, 'kept')
    if (!isTicks(kept) || isTicks(mine)) return outcome
    // The initial state of a key is not stored again as the same ticks.
    found.push(sameValue(ticksOf(mine), kept), atMost(difference(numberAt(kept, 'tick'), now), ceiling))
    return object({ ...outcome.fields, kept: mine })
  }
  const claims = compared(path, [run(one), theirs])
  return { ...claims, 'the initial state': both(...found) }
}

const isTicks = (value: Value): value is Obj => value.kind === 'object' && 'tick' in value.fields

/** The ticks of a stored state. */
function ticksOf(state: Value): Value {
  if (state.kind === 'number') return object({ tick: state, gross: state, turn: ZERO, early: ZERO, grossEarly: ZERO })
  if (state.kind !== 'object') return state
  const { tat, gross, turn, early = ZERO, grossEarly = ZERO } = state.fields
  return object({ tick: tat, gross, turn, early, grossEarly } as Obj['fields'])
}
