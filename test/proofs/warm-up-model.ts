import { LONGEST_WARM_UP } from '../../packages/core/src/kernels/warm-up.ts'
import { LATEST, LONGEST } from './bucket-model.ts'
import { Interpreter } from './interpreter.ts'
import type { Path } from './path.ts'
import { areFactors, dividesUp, isWarmer, slowsDown, twice } from './slowdown-model.ts'
import {
  asNumber,
  atMost,
  type Bool,
  below,
  both,
  constant,
  equal,
  field,
  implies,
  type Num,
  number,
  numeric,
  type Obj,
  object,
  sum,
  type Value,
  ZERO,
} from './values.ts'

const MOST_HALF = LONGEST_WARM_UP / 2
/** The most parts of a microsecond that are tried. Their sums are the same for more. */
const MOST_SCALE = 2 ** 40
/** The longest wait for a turn: units of 95 years, and what they take longer when cold. */
const MOST_AHEAD = LONGEST + 2 * LONGEST_WARM_UP

/** The numbers of a state. */
export type WarmUpNumbers = Readonly<Record<'writtenAt' | 'ahead' | 'early' | 'cold' | 'scale', Num>>

/** A number of units, which take `tick − early / scale` microseconds when warm. */
export interface Cost {
  readonly units: Num
  readonly tick: Num
  readonly early: Num
}

/** Units that lower the coldness of a key, and what they take longer. */
type Units = Readonly<Record<'before' | 'after' | 'slower', Num>>

/** A key that warms up, of any numbers, and what runs its steps. */
export class WarmUp {
  readonly path: Path
  readonly half: Num
  readonly scale: Num
  readonly burst: Num
  readonly kernel: Interpreter
  readonly #quota: Obj
  readonly #costs = new Map<string, Cost>()

  constructor(source: string, path: Path) {
    this.path = path
    this.half = path.input('half', 1, MOST_HALF)
    this.scale = path.input('scale', 1, MOST_SCALE)
    this.burst = path.input('burst', 1, LONGEST)
    this.kernel = new Interpreter(source, path)
    this.#quota = object({
      kernel: constant('warm-up'),
      limit: number(1),
      burst: this.burst,
      ticksPerUnit: constant('read by spanOf'),
      scale: this.scale,
      half: this.half,
    })
    let spans = 0
    // Another proof is about products: units take any time here.
    this.kernel.replace('spanOf', ([units]) => {
      const { tick, early } = this.#costs.get((units as Num).term) ?? this.#spanOf(units as Num, `span${spans++}`)
      return object({ tick, early })
    })
  }

  /** A key of which the solver does not multiply: it takes as true of `slowdown` what is proved of it. */
  static withoutProducts(source: string, path: Path): WarmUp {
    const key = new WarmUp(source, path)
    const known: Units[] = []
    path.definitions.push('(declare-fun slowdown (Int Int Int) Int)')
    key.kernel.replace('slowdown', (args) => {
      const [before, after, half] = args.map((each) => path.name(asNumber(each))) as [Num, Num, Num]
      const slower = path.name(numeric(`(slowdown ${before.term} ${after.term} ${half.term})`))
      const proved = isWarmer(before, after, half)
      path.assume(implies(proved, both(...Object.values(slowsDown(before, after, half, slower)))))
      path.claim(proved)
      // Proved, too: more units take longer.
      const grows = (less: Units, more: Units): Bool =>
        implies(
          both(proved, equal(less.before, more.before), atMost(more.after, less.after)),
          atMost(less.slower, more.slower),
        )
      const mine = { before, after, slower }
      for (const other of known) path.assume(both(grows(mine, other), grows(other, mine)))
      known.push(mine)
      return slower
    })
    return key
  }

  /** A key of which `dividedUp` is what is proved of it. */
  static withoutQuotients(source: string, path: Path): WarmUp {
    const key = new WarmUp(source, path)
    let quotients = 0
    key.kernel.replace('dividedUp', (args) => {
      const [x, y, divisor] = args.map((each) => path.name(asNumber(each))) as [Num, Num, Num]
      const quotient = path.input(`quotient${quotients++}`, 0, Number.MAX_SAFE_INTEGER)
      path.assume(implies(areFactors(x, y, divisor), both(...Object.values(dividesUp(x, y, divisor, quotient)))))
      path.claim(areFactors(x, y, divisor))
      return quotient
    })
    return key
  }

  moment(name: string): Num {
    return this.path.input(name, 1, LATEST)
  }

  #spanOf(units: Num, name: string): Cost {
    const cost = {
      units,
      tick: this.path.input(`${name}_tick`, 1, LONGEST),
      early: this.path.input(`${name}_early`, 0, MOST_SCALE),
    }
    this.path.assume(below(cost.early, this.scale))
    this.#costs.set(units.term, cost)
    return cost
  }

  /** A cost of which the units take any time. */
  cost(name: string): Cost {
    return this.#spanOf(this.path.input(name, 1, LONGEST), name)
  }

  /** How cold a key may be. */
  coldness(name: string): Num {
    return this.path.input(name, 0, LONGEST_WARM_UP)
  }

  /** A state that a store may hold, also of another quota. */
  state(): WarmUpNumbers & Obj['fields'] {
    const state = {
      writtenAt: this.moment('writtenAt'),
      ahead: this.path.input('ahead', 0, MOST_AHEAD),
      early: this.path.input('early', 0, MOST_SCALE),
      cold: this.coldness('cold'),
      scale: this.path.input('state_scale', 1, MOST_SCALE),
    }
    this.path.assume(isState(state))
    return state
  }

  /** A state of this quota as it is found at a moment: any state is read as one first. */
  found(now: Num): Obj {
    const { ahead, early, cold } = this.state()
    this.path.assume(both(below(early, this.scale), atMost(cold, twice(this.half))))
    return object({ writtenAt: now, ahead, early, cold, scale: this.scale })
  }

  /** A step of a call, with options. */
  step(verb: 'consume' | 'peek' | 'refund' | 'charge', { units }: Cost, options: Obj['fields'] = {}): Obj {
    return this.kernel.call('warmUpStep', this.#quota, constant(verb), units, object(options)) as Obj
  }

  run(state: Value, now: Num, step: Obj): Obj {
    return this.kernel.call('warmUp', state, now, step) as Obj
  }

  /** A take whose units, and the wait before it, are at most 95 years. */
  take(state: Value, now: Num, cost: Cost): Obj {
    const taken = this.run(state, now, this.step('consume', cost))
    this.path.assume(atMost(sum(numbersOf(taken, 'base').ahead, cost.tick), number(LONGEST)))
    return taken
  }

  /** The options of the refund of a take. */
  original(outcome: Obj, now: Num): Obj['fields'] {
    const [base, next] = [numbersOf(outcome, 'base'), numbersOf(outcome, 'next')]
    return {
      original: object({
        now,
        aheadBefore: base.ahead,
        earlyBefore: base.early,
        coldBefore: base.cold,
        ahead: next.ahead,
        early: next.early,
        cold: next.cold,
      }),
    }
  }

  /** The decision about a denied request. */
  denial(outcome: Obj, now: Num, cost: Cost, step: Obj): Obj {
    const decide = this.kernel.call('decideWarmUp', constant('policy'), this.#quota, cost.units, step)
    if (decide.kind !== 'function') throw new TypeError('decideWarmUp returns a function')
    const { ahead } = numbersOf(outcome, 'base')
    return decide.call([object({ allowed: field(outcome, 'allowed'), now, aheadBefore: ahead, ahead })]) as Obj
  }
}

export const numbersOf = (outcome: Obj, name: 'base' | 'next' | 'taken' | 'kept'): WarmUpNumbers =>
  (field(outcome, name) as Obj).fields as WarmUpNumbers

/** What holds of every state. */
export const isState = ({ ahead, early, cold, scale }: WarmUpNumbers): Bool =>
  both(
    atMost(ZERO, ahead),
    atMost(ahead, number(MOST_AHEAD)),
    atMost(ZERO, early),
    below(early, scale),
    implies(equal(ahead, ZERO), equal(early, ZERO)),
    atMost(ZERO, cold),
    atMost(cold, number(LONGEST_WARM_UP)),
  )
