import { allowed, bucketStep, LATEST, LONGEST } from './bucket-model.ts'
import { type Exact, exactSum, notAfter } from './exact.ts'
import { Interpreter } from './interpreter.ts'
import type { Path } from './path.ts'
import { exactOver, type Property } from './solver.ts'
import {
  asNumber,
  atMost,
  below,
  both,
  difference,
  equal,
  field,
  implies,
  type Num,
  not,
  number,
  numberAt,
  type Obj,
  object,
  type Value,
  ZERO,
} from './values.ts'

/** The most parts of a microsecond that are tried. Their sums are the same for more. */
const MOST_SCALE = 2 ** 40

/** A bucket, each unit of which takes a number of microseconds that is not whole. */
class FractionalBucket {
  readonly path: Path
  readonly scale: Num
  readonly size: Exact
  readonly #kernel: Interpreter
  readonly #costs = new Map<Obj, Exact>()

  constructor(source: string, path: Path) {
    this.path = path
    this.#kernel = new Interpreter(source, path)
    this.scale = path.input('scale', 2, MOST_SCALE)
    this.size = this.exact('size', 1, LONGEST)
  }

  exact(name: string, least: number, most: number): Exact {
    const tick = this.path.input(name, least, most)
    const early = this.path.input(`${name}_early`, 0, MOST_SCALE)
    this.path.assume(below(early, this.scale))
    return { tick, early }
  }

  /** The state of a key that was used, at any time. */
  state(): Obj {
    const { tick, early } = this.exact('state', 1, LATEST)
    const parts = { cost: number(1), early: this.path.name(early) }
    this.path.calls.push({ verb: 'charge', at: this.path.name(difference(tick, number(1))), ...parts })
    return object({ tat: tick, gross: tick, turn: ZERO, scale: this.scale, early, grossEarly: early })
  }

  consume(cost: Exact): Obj {
    const { tick: size, early } = this.size
    const [increment, check, tolerance] = [cost.early, cost.early, early]
    const step = bucketStep({
      increment: cost.tick,
      check: cost.tick,
      tolerance: size,
      ceiling: size,
      burst: size,
      fraction: object({ scale: this.scale, increment, check, tolerance, burst: tolerance, until: ZERO }),
    })
    this.#costs.set(step, cost)
    return step
  }

  run(state: Value, now: Num, step: Obj): Obj {
    const { tick, early } = this.#costs.get(step) as Exact
    this.path.calls.push({ verb: 'consume', at: now, cost: tick, early })
    return this.#kernel.call('bucket', state, now, step) as Obj
  }

  fitsAt(outcome: Obj, step: Obj): Num {
    return asNumber(
      this.#kernel.call('fitsAt', object({ tick: field(outcome, 'base'), early: earlyOf(outcome, 'base') }), step),
    )
  }
}

const earlyOf = (outcome: Obj, name: string): Num => numberAt(field(outcome, 'early'), name)

/** The properties of a bucket whose units take no whole microseconds. */
export function fractionProperties(source: string): Readonly<Record<string, Property>> {
  const over = exactOver((path) => new FractionalBucket(source, path))
  return {
    'a take of parts of a microsecond ends exactly one cost later, within the burst': over((bucket) => {
      const [state, now] = [bucket.state(), bucket.path.input('now', 1, LATEST)]
      const cost = bucket.exact('cost', 1, LONGEST)
      const taken = bucket.run(state, now, bucket.consume(cost))
      const base = { tick: numberAt(taken, 'base'), early: earlyOf(taken, 'base') }
      const next = { tick: numberAt(taken, 'next'), early: earlyOf(taken, 'tat') }
      const expected = exactSum(base, cost, bucket.scale)
      return {
        exactly: both(equal(next.tick, expected.tick), equal(next.early, expected.early)),
        'in range': both(atMost(ZERO, next.early), below(next.early, bucket.scale)),
        'within the burst': implies(
          allowed(taken),
          notAfter(next, exactSum({ tick: now, early: ZERO }, bucket.size, bucket.scale)),
        ),
        'not before now': notAfter({ tick: now, early: ZERO }, base),
      }
    }),
    'a denied request of parts is allowed at the time that it is given, and not a microsecond before': over(
      (bucket) => {
        const [state, now] = [bucket.state(), bucket.path.input('now', 1, LATEST)]
        const cost = bucket.exact('cost', 1, LONGEST)
        bucket.path.assume(notAfter(cost, bucket.size))
        const step = bucket.consume(cost)
        const denied = bucket.run(state, now, step)
        bucket.path.assume(not(allowed(denied)))
        const at = bucket.fitsAt(denied, step)
        const kept = field(denied, 'kept')
        const before = bucket.run(kept, bucket.path.name(difference(at, number(1))), step)
        const then = bucket.run(kept, at, step)
        return { later: below(now, at), allowed: allowed(then), 'not before': not(allowed(before)) }
      },
    ),
  }
}
