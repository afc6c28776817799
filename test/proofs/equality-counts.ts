import { LATEST, LONGEST } from './bucket-model.ts'
import { compared, comparedOutcomes, inputs, MOST } from './equality.ts'
import type { Language } from './languages.ts'
import type { Path } from './path.ts'
import { isState, type PenaltyNumbers } from './penalty-model.ts'
import { SameProducts } from './products.ts'
import type { Property } from './solver.ts'
import {
  atMost,
  below,
  boolean,
  both,
  constant,
  difference,
  either,
  implies,
  NULL,
  type Num,
  type Obj,
  object,
  sum,
  UNDEFINED,
  type Value,
  ZERO,
} from './values.ts'

const MOST_UNITS = 2 ** 50
const MOST_HALF = 2 ** 32
/** The most parts of a microsecond that are tried. Their sums are the same for more. */
const MOST_SCALE = 2 ** 40

const inStates = (
  what: string,
  propertyOf: (stateOf: (used: () => Value) => Value) => Property,
): Readonly<Record<string, Property>> => ({
  [`${what}, in the state of a new key`]: propertyOf(() => UNDEFINED),
  [`${what}, in the state of a key that was used`]: propertyOf((used) => used()),
})

/** That the window kernel is the same in two languages. Calendars are not compared. */
export function windowEquality(one: Language, other: Language): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = {}
  for (const what of ['sliding window', 'fixed window', 'window of the clock']) {
    for (const isNew of [false, true]) {
      const name = `a ${what}, in the state of ${isNew ? 'a new key' : 'a key that was used'}`
      properties[name] = (path) => {
        const counts = [0, 2 ** 52] as const
        const found = isNew
          ? UNDEFINED
          : object(inputs(path, 'state', { start: [0, MOST], current: counts, previous: counts }))
        const now = path.input('now', 1, LATEST)
        const numbers = inputs(path, 'step', {
          increment: [-(2 ** 50), 2 ** 50],
          check: [-6 * 2 ** 50, 2 ** 50],
          limit: [1, 2 ** 50],
          ticks: [1, LONGEST],
          tick: [1, LONGEST],
          most: counts,
          since: [0, MOST],
        })
        const step = object({
          kernel: constant('sliding-window'),
          peek: boolean(false),
          ...numbers,
          fixed: boolean(what !== 'sliding window'),
          calendar: NULL,
          offset: what === 'window of the clock' ? path.input('offset', 0, LONGEST) : NULL,
        })
        return comparedOutcomes(path, [one, other], 'sliding-window', found, now, step)
      }
    }
  }
  return properties
}

/** That the penalty kernel is the same in two languages, but for the length of a block. */
export function penaltyEquality(one: Language, other: Language): Readonly<Record<string, Property>> {
  const properties = (extend: boolean) =>
    inStates(`a penalty${extend ? ' that extends blocks' : ''}`, (stateOf) => (path) => {
      const numbers = inputs(path, 'step', PENALTY_STEP)
      const state = stateOf(() => penaltyState(path, numbers['limit'] as Num))
      path.decide(below(numbers['increment'] as Num, ZERO))
      const step = object({ kernel: constant('penalty'), peek: boolean(false), ...numbers, extend: boolean(extend) })
      return comparedOutcomes(path, [one, other], 'penalty', state, path.input('now', 1, LATEST), step)
    })
  return { ...properties(false), ...properties(true) }
}

const PENALTY_STATE = {
  writtenAt: [0, MOST],
  first: [-MOST, MOST],
  count: [0, MOST_UNITS],
  until: [0, MOST],
  level: [0, MOST],
  last: [-MOST, MOST],
} as const

function penaltyState(path: Path, limit: Num): Obj {
  const state = inputs(path, 'state', PENALTY_STATE) as PenaltyNumbers
  path.assume(isState(state, limit))
  return object(state)
}

const PENALTY_STEP = {
  increment: [-MOST_UNITS, MOST_UNITS],
  check: [0, MOST_UNITS],
  limit: [1, MOST_UNITS],
  window: [1, LONGEST],
  block: [0, LONGEST],
  grow: [1, 1000],
  max: [0, LONGEST],
  forgive: [0, LONGEST],
  since: [0, MOST],
} as const

/** That the kernel of keys that warm up is the same in two languages, and what their units take longer. */
export function warmUpEquality(one: Language, other: Language): Readonly<Record<string, Property>> {
  return {
    ...inStates('a key that warms up', (stateOf) => (path) => {
      const state = stateOf(() => warmUpState(path))
      return comparedOutcomes(path, [one, other], 'warm-up', state, path.input('now', 1, LATEST), warmUpStep(path))
    }),
    'what units take longer while a key is cold': (path) => {
      path.products = new SameProducts(path)
      const cold = [0, 2 * MOST_HALF] as const
      const { before, after, half } = inputs(path, 'cold', { before: cold, after: cold, half: [1, MOST_HALF] }) as Cold
      path.assume(both(atMost(after, before), atMost(before, sum(half, half))))
      const run = (language: Language) => (): Obj => object({ slower: language(path).slowdown(before, after, half) })
      return compared(path, [run(one), run(other)])
    },
  }
}

type Cold = Record<'before' | 'after' | 'half', Num>

function warmUpState(path: Path): Obj {
  const state = inputs(path, 'state', {
    writtenAt: [0, MOST],
    ahead: [0, MOST],
    early: [0, MOST_SCALE],
    cold: [0, 2 * MOST_HALF],
    scale: [1, MOST_SCALE],
  })
  path.assume(below(state['early'] as Num, state['scale'] as Num))
  return object(state)
}

/** A step, of which the parts of a microsecond are negative in a refund. */
function warmUpStep(path: Path): Obj {
  const { early, scale, increment, ...numbers } = inputs(path, 'step', {
    increment: [-LONGEST, LONGEST],
    check: [0, LONGEST],
    tolerance: [0, LONGEST],
    half: [1, MOST_HALF],
    early: [-MOST_SCALE, MOST_SCALE],
    scale: [1, MOST_SCALE],
    until: [0, Number.MAX_SAFE_INTEGER],
    untilEarly: [0, MOST_SCALE],
    cold: [0, 2 * MOST_HALF],
  }) as Record<'early' | 'scale' | 'increment', Num>
  const isRefund = below(increment, ZERO)
  path.assume(both(below(early, scale), below(difference(ZERO, early), scale)))
  path.assume(both(either(isRefund, atMost(ZERO, early)), implies(isRefund, atMost(early, ZERO))))
  path.decide(isRefund)
  return object({ kernel: constant('warm-up'), peek: boolean(false), early, scale, increment, ...numbers })
}
