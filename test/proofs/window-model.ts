import { LATEST, LONGEST } from './bucket-model.ts'
import { Interpreter } from './interpreter.ts'
import { wholeOf } from './operations.ts'
import type { Call, Path } from './path.ts'
import { UnknownProducts } from './products.ts'
import type { Claims } from './solver.ts'
import {
  atMost,
  below,
  boolean,
  both,
  constant,
  difference,
  either,
  equal,
  field,
  implies,
  NULL,
  type Num,
  number,
  numberAt,
  numeric,
  type Obj,
  object,
  sum,
  type Value,
  ZERO,
} from './values.ts'

/** The most units times ticks: `MOST_SHARES` of core. */
export const MOST_SHARES = 2 ** 50
/** The most units times ticks that a window counts: `MOST_COUNTED` of core. */
const MOST_COUNTED = 3 * 2 ** 50

/** A quota of any limit and any length, and what runs its steps. */
export class Window {
  readonly path: Path
  readonly limit: Num
  /** The length in ticks, the length of a tick, and the length in microseconds. */
  readonly ticks: Num
  readonly tick: Num
  readonly length: Num
  readonly quota: Obj
  /** The most units that are counted. */
  readonly most: Num
  /** How long a unit counts at most, in microseconds. */
  readonly span: Num
  readonly #kernel: Interpreter
  /** The calls that steps are made for. */
  readonly #calls = new Map<Value, Omit<Call, 'at'>>()

  /** A sliding window in ticks of some microseconds; a fixed one, which is one tick, if they are not given. */
  constructor(source: string, path: Path, micros?: number) {
    this.path = path
    this.#kernel = new Interpreter(source, path)
    this.limit = path.input('limit', 1, MOST_SHARES)
    if (micros === undefined) {
      this.ticks = number(1)
      this.tick = path.input('window', 1, LONGEST)
      this.length = this.tick
    } else {
      this.ticks = path.input('ticks', 1, LONGEST / micros)
      this.tick = number(micros)
      this.length = path.name(this.#times(this.ticks, this.tick))
    }
    this.most = path.name(numeric(`(div ${MOST_COUNTED} ${this.ticks.term})`))
    this.span = micros === undefined ? this.length : path.name(sum(this.length, this.length))
    path.assume(atMost(this.#times(this.limit, this.ticks), number(MOST_SHARES)))
    this.quota = object({
      kernel: constant('sliding-window'),
      limit: this.limit,
      window: this.length,
      tick: this.tick,
      fixed: boolean(micros === undefined),
      calendar: NULL,
      offset: NULL,
    })
  }

  #times(a: Num, b: Num): Num {
    if (b.known === 1) return a
    return this.path.products && b.known === undefined
      ? this.path.products.product(a, b)
      : numeric(`(* ${a.term} ${b.term})`)
  }

  moment(name: string): Num {
    return this.path.input(name, 1, LATEST)
  }

  cost(name: string): Num {
    const cost = this.path.input(name, 1, MOST_SHARES)
    this.path.assume(atMost(cost, this.limit))
    return cost
  }

  /** The counts of a key that was used, at any time. Charges may be beyond the limit. */
  state(): Obj {
    const [start, current, previous] = [this.moment('start'), this.count('current'), this.count('previous')]
    const before = this.path.name(difference(start, this.length))
    this.path.calls.push({ verb: 'charge', at: before, cost: previous }, { verb: 'charge', at: start, cost: current })
    return object({ start, current, previous })
  }

  /** The product with the ticks is what a window can count at most. */
  count(name: string): Num {
    const count = this.path.input(name, 0, MOST_COUNTED)
    this.path.assume(atMost(this.#times(count, this.ticks), number(MOST_COUNTED)))
    return count
  }

  /** A step of a call; a refund may be of a take in the window that starts at `since`. */
  step(verb: Call['verb'], cost: Num, since?: Num): Value {
    const options = object(since ? { original: object({ start: since }) } : {})
    const step = this.#kernel.call('windowStep', this.quota, constant(verb), cost, options)
    this.#calls.set(step, since ? { verb, cost, since } : { verb, cost })
    return step
  }

  run(state: Value, now: Num, step: Value): Obj {
    this.path.calls.push({ ...(this.#calls.get(step) as Omit<Call, 'at'>), at: now })
    return this.#kernel.call('slidingWindow', state, now, step) as Obj
  }

  consume(state: Value, now: Num, cost: Num): Obj {
    return this.run(state, now, this.step('consume', cost))
  }

  /** The ticks after which no more than `room` of `count` units of the window before count. */
  fadedAfter(count: Num, room: Num): Num {
    return this.#kernel.call('fadedAfter', this.ticks, count, room) as Num
  }

  /** A window of which the solver multiplies nothing: it takes as true of `fadedAfter` what is proved of it. */
  static withoutProducts(source: string, path: Path, micros: number): Window {
    path.products = new UnknownProducts(path)
    const window = new Window(source, path, micros)
    let calls = 0
    window.#kernel.replace('fadedAfter', (args) => {
      const [ticks, count, room] = args.map((each) => wholeOf(path, each)) as [Num, Num, Num]
      const faded = path.input(`faded${calls++}`, 0, LONGEST)
      const isProved = both(
        equal(ticks, window.ticks),
        atMost(ZERO, count),
        atMost(window.#times(count, ticks), number(MOST_COUNTED)),
        atMost(ZERO, room),
        atMost(room, window.limit),
      )
      path.assume(implies(isProved, both(...Object.values(window.fades(count, room, faded)))))
      return faded
    })
    return window
  }

  /** The calls after which a caller waits for `count` units of the window before to fade, beside `current` ones. */
  faded(count: Num, current: Num): void {
    const before = this.moment('before')
    const at = this.path.name(sum(before, this.length))
    this.path.calls.push(
      { verb: 'charge', at: before, cost: count },
      { verb: 'charge', at, cost: current },
      { verb: 'consume', at, cost: number(1) },
    )
  }

  /** What holds of the ticks after which no more than `room` of `count` units count. */
  fades(count: Num, room: Num, ticks: Num): Claims {
    const share = (after: Num): Num => this.#times(count, this.path.name(difference(this.ticks, after)))
    const allowed = this.#times(this.path.name(sum(room, number(1))), this.ticks)
    return {
      'within the window': both(atMost(ZERO, ticks), atMost(ticks, this.ticks)),
      'at that tick': below(share(ticks), allowed),
      'not before': either(equal(ticks, ZERO), atMost(allowed, share(difference(ticks, number(1))))),
    }
  }

  /** The decision about a denied request. */
  denial(outcome: Obj, now: Num, cost: Num): Obj {
    const { start, current, previous } = (field(outcome, 'base') as Obj).fields as Record<string, Num>
    const taken = object({
      allowed: boolean(false),
      now,
      start: start as Num,
      current: current as Num,
      previous: previous as Num,
    })
    const decide = this.#kernel.call('decideWindow', constant('policy'), this.quota, cost)
    if (decide.kind !== 'function') throw new TypeError('decideWindow returns a function')
    return decide.call([taken]) as Obj
  }

  /** The units in use: those of the window, and the share of the previous one's that is still to come, rounded down. */
  used(outcome: Obj, now: Num): Num {
    const base = field(outcome, 'base')
    const passed = `(div ${difference(now, numberAt(base, 'start')).term} ${this.tick.term})`
    const share = `(div (* ${numberAt(base, 'previous').term} (- ${this.ticks.term} ${passed})) ${this.ticks.term})`
    return this.path.name(sum(numberAt(base, 'current'), numeric(share)))
  }
}

/** The microseconds of a time that is given in milliseconds. */
export function microsAt(decision: Obj, name: string): Num {
  const value = field(decision, name)
  if (value.kind !== 'ratio' || value.bottom.known !== 1000) throw new TypeError(`${name} is no time in milliseconds`)
  return value.top
}

export const counts = (outcome: Obj, name: string): readonly [start: Num, current: Num, previous: Num] => {
  const state = field(outcome, name)
  return [numberAt(state, 'start'), numberAt(state, 'current'), numberAt(state, 'previous')]
}
