import { MOST_SCALE } from '../../packages/core/src/kernels/fraction.ts'
import { allowed, bucketStep, LATEST, LONGEST } from './bucket-model.ts'
import { type Exact, exactSum, notAfter, sameExact } from './exact.ts'
import { Interpreter } from './interpreter.ts'
import type { Path } from './path.ts'
import { Carries } from './products.ts'
import type { Property } from './solver.ts'
import type { Row } from './sql.ts'
import { elementsOf, listOf } from './sql-operations.ts'
import { exactAt, TakeBucket } from './take-bucket.ts'
import {
  asNumber,
  atMost,
  type Bool,
  below,
  boolean,
  both,
  difference,
  either,
  equal,
  field,
  greater,
  implies,
  NULL,
  type Num,
  not,
  number,
  numberAt,
  numeric,
  type Obj,
  object,
  sameValue,
  sum,
  UNDEFINED,
  type Value,
  ZERO,
} from './values.ts'

/** The numbers of a step and a state, of any size that a store may hold. */
const MOST = LATEST + LONGEST
/** How long a row is kept after its state is that of a new key, at least. */
const KEPT_MICROS = 60_000_000

/** The states of a key. */
export const STATES = ['a new key', 'a number', 'parts of a microsecond'] as const
type State = (typeof STATES)[number]

/** Calls of one step on a bucket, in both languages. */
class Calls {
  readonly path: Path
  readonly now: Num
  readonly scale: Num
  /** The units of one call, and of all. */
  readonly each: Exact
  readonly total: Exact
  readonly ceiling: Num
  readonly state: Value
  /** The units of the calls before a later one. */
  readonly before: Exact
  /** The first call, and any later one, after the time of those before it. */
  readonly first: Obj
  readonly later: Obj
  readonly returned: readonly Num[] | undefined
  readonly row: Row | undefined
  readonly isLater: Bool
  /** That the numbers of SQL are exact. */
  readonly #ranges: readonly Bool[]

  constructor(source: string, sql: string, path: Path, hasParts: boolean, state: State) {
    this.path = path
    path.products = new Carries(path)
    this.now = path.input('now', 1, LATEST)
    const count = path.input('count', 1, 2 ** 20)
    this.scale = hasParts ? path.input('scale', 2, MOST_SCALE) : number(1)
    this.each = this.#exact('increment', 1)
    this.ceiling = path.input('ceiling', 0, LONGEST)
    const [check, tolerance] = [this.#exact('check', 0), this.#exact('tolerance', 0)]
    const parts = { increment: this.each.early, check: check.early, tolerance: tolerance.early }
    const step = bucketStep({
      increment: this.each.tick,
      check: check.tick,
      tolerance: tolerance.tick,
      ...Object.fromEntries(['maxWaitMicros', 'burst'].map((name) => [name, path.input(name, 0, LONGEST)])),
      ceiling: this.ceiling,
      fraction: hasParts ? object({ scale: this.scale, ...parts, burst: ZERO, until: ZERO }) : NULL,
    })
    const kernel = new Interpreter(source, path)
    const bounds = hasParts ? this.#boundsOf(kernel, count, step) : kernel.call('boundsOf', count, step)
    this.total = exactAt(field(bounds, 'total'))
    const [found, row] = this.#stateOf(state)
    this.state = found
    const called = new TakeBucket(bounds, sql, path, count, step, this.now, row)
    // Others are sent to another function.
    path.assume(both(...Object.values(called.sent).map(isSafe)))
    const others = path.ranges.length
    this.returned = called.run()
    this.row = called.row
    this.#ranges = path.ranges.splice(others)
    this.first = kernel.call('bucket', this.state, this.now, step) as Obj
    this.before = this.#exact('before', 0, MOST)
    this.isLater = both(notAfter(this.each, this.before), notAfter(this.plus(this.before, this.each), this.total))
    path.assume(either(this.isLater, both(equal(this.before.tick, ZERO), equal(this.before.early, ZERO))))
    const { tick, early } = this.plus(outcomeAt(this.first, 'base'), this.before)
    const gross = path.name(tick)
    const tat = path.name(this.signed(gross))
    const parted = { turn: ZERO, scale: this.scale, early: path.name(early), grossEarly: path.name(early) }
    this.later = kernel.call('bucket', hasParts ? object({ tat, gross, ...parted }) : tat, this.now, step) as Obj
  }

  /** A number of microseconds less some parts of one, if there are parts. */
  #exact(name: string, least: number, most: number = LONGEST): Exact {
    const tick = this.path.input(name, least, most)
    if (this.scale.known === 1) return { tick, early: ZERO }
    const early = this.path.input(`${name}_early`, 0, MOST_SCALE)
    this.path.assume(below(early, this.scale))
    return { tick, early }
  }

  /** The bounds, of which the units of some calls are what is proved of them: those of one call less, and of that call. */
  #boundsOf(kernel: Interpreter, count: Num, step: Obj): Value {
    const others = this.#exact('others', 0, Number.MAX_SAFE_INTEGER)
    this.path.assume(either(below(number(1), count), both(equal(others.tick, ZERO), equal(others.early, ZERO))))
    this.path.assume(either(equal(count, number(1)), notAfter(this.each, others)))
    const all = this.plus(others, this.each)
    const total = { tick: this.path.name(all.tick), early: this.path.name(all.early) }
    kernel.replace('multiple', ([times]) => object({ ...(times === count ? total : others) }))
    return kernel.call('boundsOf', count, step)
  }

  /** A state, and the row that holds it. */
  #stateOf(state: State): readonly [found: Value, row: Row | undefined] {
    if (state === 'a new key') return [UNDEFINED, undefined]
    const row = { tat: this.path.input('state', -MOST, MOST), expires: this.path.input('expires', 0, 2 * MOST) }
    const { tat } = row
    if (state === 'a number') return [tat, { ...row, counts: NULL }]
    const [scale, early] = [
      this.path.input('state_scale', 2, MOST_SCALE),
      this.path.input('state_early', 0, MOST_SCALE),
    ]
    this.path.assume(below(early, scale))
    const gross = this.path.name(greater(tat, difference(ZERO, tat)))
    return [
      object({ tat, gross, turn: ZERO, scale, early, grossEarly: early }),
      { ...row, counts: listOf([scale, early]) },
    ]
  }

  /** That SQL counts exactly where TypeScript does. */
  get isExact(): Bool {
    return implies(both(...this.path.ranges), both(...this.#ranges))
  }

  plus(a: Exact, b: Exact): Exact {
    return this.scale.known === 1 ? { tick: sum(a.tick, b.tick), early: ZERO } : exactSum(a, b, this.scale)
  }

  /** A state, with the sign of a debt. */
  signed(tick: Num): Num {
    const isDebt = below(this.ceiling, difference(tick, this.now))
    return numeric(`(ite ${isDebt.term} (- ${tick.term}) ${tick.term})`)
  }

  /** Whether a state is what a row holds. */
  isStored(state: Value, { tick, early }: Exact): Bool {
    const tat = this.signed(tick)
    if (state.kind === 'number') return both(equal(state, tat), equal(early, ZERO))
    if (state.kind !== 'object' || !('scale' in state.fields)) return boolean(false)
    const gross = { tick: numberAt(state, 'gross'), early: numberAt(state, 'grossEarly') }
    const whole = both(equal(numberAt(state, 'tat'), tat), equal(numberAt(state, 'turn'), ZERO))
    const parts = both(equal(numberAt(state, 'scale'), this.scale), equal(numberAt(state, 'early'), early))
    return both(whole, parts, sameExact(gross, { tick, early }))
  }
}

const outcomeAt = (outcome: Obj, name: 'base' | 'next'): Exact => ({
  tick: numberAt(outcome, name),
  early: numberAt(field(outcome, 'early'), name === 'next' ? 'tat' : name),
})

/** What {@link Calls} takes as given of `multiple`, which alone multiplies parts of a microsecond. */
const productOf =
  (source: string): Property =>
  (path) => {
    // The other solver does not decide it.
    path.arithmetic = 6
    const [times, tick, early] = [
      path.input('times', 0, 2 ** 20),
      path.input('tick', 1, LONGEST),
      path.input('early', 0, MOST_SCALE),
    ]
    const scale = path.input('scale', 2, MOST_SCALE)
    path.assume(below(early, scale))
    const found = exactAt(new Interpreter(source, path).call('multiple', times, object({ tick, early }), scale))
    const parts = (of: Exact): string => `(- (* ${of.tick.term} ${scale.term}) ${of.early.term})`
    return {
      'fewer parts than a microsecond': both(atMost(ZERO, found.early), below(found.early, scale)),
      'a product': equal(numeric(parts(found)), numeric(`(* ${times.term} ${parts({ tick, early })})`)),
    }
  }

const isSafe = (value: Num) => both(atMost(number(-(2 ** 53) + 1), value), atMost(value, number(2 ** 53 - 1)))

/** That the SQL function does what the kernel does in each of the calls, one after the other. */
export function takeBucketProperties(source: string, sql: string): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = { 'the units of some calls are a product': productOf(source) }
  for (const hasParts of [false, true]) {
    for (const state of STATES) {
      const name = `calls of one step${hasParts ? ' of parts of a microsecond' : ''}, in the state of ${state}`
      properties[name] = (path) => {
        const calls = new Calls(source, sql, path, hasParts, state)
        const { isExact, first, later, each, returned, row, total, now } = calls
        if (returned === undefined) return { 'another function': boolean(true) }
        const [, isTaken, tick, early] = returned as [Num, Num, Num, Num]
        const [end, firstBase] = [{ tick, early }, outcomeAt(first, 'base')]
        if (isTaken.known === 0) {
          return {
            'as exact': isExact,
            'the first call does not fit': not(allowed(first)),
            base: sameExact(end, firstBase),
            'the state is left': sameValue(field(first, 'kept'), calls.state),
          }
        }
        const { tat, counts, expires } = row as Row
        const all = calls.plus(firstBase, total)
        const before = calls.plus(firstBase, calls.before)
        return {
          'as exact': isExact,
          'the first call fits': allowed(first),
          'takes its units': sameExact(outcomeAt(first, 'next'), calls.plus(firstBase, each)),
          'so does each later call': implies(calls.isLater, allowed(later)),
          'takes its units, too': implies(calls.isLater, sameExact(outcomeAt(later, 'next'), calls.plus(before, each))),
          'what is stored': calls.isStored(field(first, 'taken'), calls.plus(firstBase, each)),
          'what is stored in the end': both(sameExact(end, all), equal(asNumber(tat as Value), calls.signed(all.tick))),
          'parts of a microsecond': hasParts
            ? both(...[calls.scale, early].map((part, i) => equal(part, elementsOf(counts as Value)[i] as Num)))
            : boolean(counts === NULL),
          'not deleted too early': atMost(sum(greater(all.tick, now), number(KEPT_MICROS)), asNumber(expires as Value)),
        }
      }
    }
  }
  return properties
}
