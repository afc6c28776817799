import { Interpreter } from './interpreter.ts'
import type { Call, Path } from './path.ts'
import {
  asNumber,
  atMost,
  boolean,
  constant,
  difference,
  field,
  logical,
  NULL,
  type Num,
  number,
  numberAt,
  type Obj,
  object,
  type Value,
  ZERO,
} from './values.ts'

/** The start of the year 2100 in microseconds since 1970: what is computed is exact until then, for the largest bucket. */
export const LATEST = 4_102_444_800e6
/** The largest bucket and the largest cost, in microseconds: `LONGEST` of core, 95 years. */
export const LONGEST = 3e15
const UNKNOWN = number(Number.MAX_SAFE_INTEGER)

/** A step of a bucket that refills continuously, without a wait and a starting level. */
export const bucketStep = (fields: Readonly<Record<string, Value>>): Obj =>
  object({
    kernel: constant('bucket'),
    maxWaitMicros: ZERO,
    until: UNKNOWN,
    ends: ZERO,
    whole: boolean(false),
    schedule: NULL,
    start: NULL,
    fraction: NULL,
    peek: boolean(false),
    ...fields,
  })

/** A bucket of `size` ticks, and what runs steps of it. */
export class Bucket {
  readonly path: Path
  readonly size: Num
  /** How much of the size is available without a delay: all of it, but for a queue. */
  burst: Num
  readonly #kernel: Interpreter
  /** The calls that steps are made for, and that outcomes are of. */
  readonly #calls = new Map<Obj, Omit<Call, 'at'>>()
  readonly #made = new Map<Obj, Call>()

  constructor(source: string, path: Path) {
    this.path = path
    this.#kernel = new Interpreter(source, path)
    this.size = path.input('size', 1, LONGEST)
    this.burst = this.size
  }

  /** Makes the bucket a queue, of which takes have their turn later. */
  queue(): void {
    this.burst = this.path.input('burst', 1, LONGEST)
    this.path.assume(atMost(this.burst, this.size))
  }

  /** A moment at which the store's clock may be. */
  moment(name: string): Num {
    return this.path.input(name, 1, LATEST)
  }

  /** A cost that fits the bucket. */
  cost(name: string): Num {
    const cost = this.path.input(name, 1, LONGEST)
    this.path.assume(atMost(cost, this.size))
    return cost
  }

  step(fields: Readonly<Record<string, Value>>): Obj {
    return bucketStep({ tolerance: this.size, ceiling: this.size, burst: this.burst, ...fields })
  }

  consume(cost: Num): Obj {
    return this.#stepOf({ verb: 'consume', cost }, { increment: cost, check: cost })
  }

  charge(cost: Num): Obj {
    return this.#stepOf({ verb: 'charge', cost }, { increment: cost, check: ZERO, tolerance: number(LONGEST) })
  }

  /** A refund of an unknown take. */
  refundAny(cost: Num): Obj {
    const increment = this.path.name(difference(ZERO, cost))
    return this.#stepOf({ verb: 'refund', cost }, { increment, check: ZERO, tolerance: number(LONGEST) })
  }

  #stepOf(call: Omit<Call, 'at'>, fields: Readonly<Record<string, Value>>): Obj {
    const step = this.step(fields)
    this.#calls.set(step, call)
    return step
  }

  run(state: Value, now: Num, step: Obj): Obj {
    const outcome = this.#kernel.call('bucket', state, now, step) as Obj
    const call = this.#calls.get(step)
    if (call) {
      const made = { ...call, at: now }
      this.#made.set(outcome, made)
      this.path.calls.push(made)
    }
    return outcome
  }

  /** The refund of an allowed take of `cost` ticks at `now`, as `refund` of the verbs makes it. */
  refund(outcome: Obj, now: Num, cost: Num): Obj {
    const taken = object({
      now,
      base: numberAt(outcome, 'base'),
      tat: numberAt(outcome, 'next'),
      gross: object({ tick: numberAt(outcome, 'grossNext'), early: ZERO }),
    })
    const quota = object({ scale: number(1), schedule: NULL })
    const burst = object({ tick: this.burst, early: ZERO })
    const { until, ends } = (this.#kernel.call('refundOf', quota, burst, taken) as Obj).fields
    const increment = asNumber(this.path.name(difference(ZERO, cost)))
    const call: Omit<Call, 'at'> = { verb: 'refund', cost, of: this.#made.get(outcome) }
    return this.#stepOf(call, {
      increment,
      check: ZERO,
      tolerance: number(LONGEST),
      until: numberAt(until as Value, 'tick'),
      ends: ends as Value,
      whole: boolean(true),
    })
  }

  fitsAt(outcome: Obj, step: Obj): Num {
    const base = object({ tick: field(outcome, 'base'), early: ZERO })
    return asNumber(this.#kernel.call('fitsAt', base, step))
  }
}

export const allowed = (outcome: Obj) => logical((field(outcome, 'allowed') as { term: string }).term)
export const base = (outcome: Obj): Num => numberAt(outcome, 'base')

/** A state that is a time: of a key that was used, at any time. */
export function anyState({ path }: Bucket): Num {
  const state = path.input('state', 1, LATEST)
  path.calls.push({ verb: 'charge', at: path.name(difference(state, number(1))), cost: number(1) })
  return state
}

/** The moment at which a stored bucket is full again, as far as the state says. */
export const tatOf = (state: Value): Num => (state.kind === 'number' ? state : numberAt(state, 'tat'))

/** The units of time that are missing at a moment. */
export const missing = (outcome: Obj, now: Num): Num => difference(base(outcome), now)
