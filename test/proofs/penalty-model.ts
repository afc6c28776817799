import { MOST_AFTER } from '../../packages/core/src/algorithms/penalty/penalty-checks.ts'
import { LATEST, LONGEST } from './bucket-model.ts'
import { Interpreter } from './interpreter.ts'
import type { Path } from './path.ts'
import {
  atMost,
  type Bool,
  below,
  boolean,
  both,
  constant,
  either,
  equal,
  field,
  implies,
  type Num,
  number,
  numberAt,
  type Obj,
  ONE,
  object,
  type Value,
  ZERO,
} from './values.ts'

/** The most units that a window counts, and that one call charges: `MOST_UNITS` of core. */
export const MOST_UNITS = 2 ** 50
/** How early a state may have moments: 142 years before 1970, because they are moved back with the clock. */
const EARLIEST = -(2 ** 52)
/** The most blocks in a row: one a microsecond until the latest time. */
const MOST_BLOCKS = LATEST

export type PenaltyNumbers = Readonly<Record<'writtenAt' | 'first' | 'count' | 'until' | 'level' | 'last', Num>>

/** A penalty of any numbers, and what runs its steps. */
export class Penalty {
  readonly path: Path
  readonly limit: Num
  readonly window: Num
  readonly block: Num
  readonly max: Num
  readonly forgive: Num
  readonly quota: Obj
  readonly #kernel: Interpreter

  constructor(source: string, path: Path, extend: boolean) {
    this.path = path
    this.limit = path.input('limit', 1, MOST_AFTER)
    this.window = path.input('window', 1, LONGEST)
    this.block = path.input('block', 1, LONGEST)
    this.max = path.input('max', 1, LONGEST)
    this.forgive = path.input('forgive', 0, LONGEST)
    path.assume(atMost(this.block, this.max))
    this.quota = object({
      kernel: constant('penalty'),
      limit: this.limit,
      window: this.window,
      block: this.block,
      grow: path.input('grow', 1, 1000),
      max: this.max,
      forgive: this.forgive,
      extend: boolean(extend),
    })
    this.#kernel = new Interpreter(source, path)
    let blocks = 0
    // A loop over the blocks in a row. This is all that is assumed of it.
    this.#kernel.replace('lengthOf', ([step]) => {
      const length = path.input(`length${blocks++}`, 1, LONGEST)
      path.assume(
        both(atMost(numberAt(step as Value, 'block'), length), atMost(length, numberAt(step as Value, 'max'))),
      )
      return length
    })
  }

  moment(name: string): Num {
    return this.path.input(name, 1, LATEST)
  }

  cost(): Num {
    const cost = this.path.input('cost', 1, MOST_AFTER)
    this.path.assume(atMost(cost, this.limit))
    return cost
  }

  /** A state that a store may hold. */
  state(): PenaltyNumbers & Obj['fields'] {
    const state = {
      writtenAt: this.moment('writtenAt'),
      first: this.path.input('first', EARLIEST, LATEST),
      count: this.path.input('count', 0, MOST_UNITS),
      until: this.path.input('until', 0, LATEST + LONGEST),
      level: this.path.input('level', 0, MOST_BLOCKS),
      last: this.path.input('last', EARLIEST, LATEST),
    }
    this.path.assume(isState(state, this.limit))
    return state
  }

  /** A step of a call; a refund may be of a take in the window that began at `since`. */
  step(verb: 'consume' | 'peek' | 'refund' | 'charge', cost: Num, since?: Num): Value {
    const options = object(since ? { original: object({ first: since }) } : {})
    return this.#kernel.call('penaltyStep', this.quota, constant(verb), cost, options)
  }

  run(state: Value, now: Num, step: Value): Obj {
    return this.#kernel.call('penalty', state, now, step) as Obj
  }

  /** The decision about a request of a cost. */
  decision(outcome: Obj, now: Num, cost: Num, allowed: boolean): Obj {
    const taken = object({ ...(field(outcome, 'base') as Obj).fields, allowed: boolean(allowed), now })
    const decide = this.#kernel.call('decidePenalty', constant('policy'), this.quota, cost)
    if (decide.kind !== 'function') throw new TypeError('decidePenalty returns a function')
    return decide.call([taken]) as Obj
  }
}

/** The numbers of a state. */
export const numbersOf = (outcome: Obj, name: string): PenaltyNumbers =>
  (field(outcome, name) as Obj).fields as PenaltyNumbers

/** What holds of every state: a window that began, a block that its units have started, and blocks before it. */
export const isState = ({ writtenAt, first, count, until, level, last }: PenaltyNumbers, limit: Num): Bool =>
  both(
    atMost(first, writtenAt),
    atMost(ZERO, count),
    atMost(count, number(MOST_UNITS)),
    either(equal(until, ZERO), both(atMost(limit, count), below(writtenAt, until))),
    either(below(ZERO, until), below(count, limit)),
    atMost(ZERO, level),
    implies(equal(level, ZERO), equal(last, ZERO)),
    implies(atMost(ONE, level), atMost(last, writtenAt)),
  )
