import { allowed, base, bucketStep, LATEST, LONGEST } from './bucket-model.ts'
import { Interpreter } from './interpreter.ts'
import type { Path } from './path.ts'
import type { Property } from './solver.ts'
import { type Row, SqlFunction } from './sql.ts'
import {
  asNumber,
  atMost,
  type Bool,
  below,
  boolean,
  both,
  constant,
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
  sum,
  UNDEFINED,
  type Value,
  ZERO,
} from './values.ts'

/** The numbers of a step and a state, of any size that a store may hold. */
const MOST = LATEST + LONGEST
/** How long a row is kept after its state is that of a new key, at least. */
const KEPT_MICROS = 60_000_000
export const NAME = constant('name')

/** The arguments of the SQL function for some calls of one step, as the store sends them. */
export function sentTo(source: string, path: Path, count: Num, step: Obj, now: Num): Readonly<Record<string, Value>> {
  const bounds = new Interpreter(source, path).call('boundsOf', count, step)
  const [total, first, last] = ['total', 'first', 'last'].map((name) => field(bounds, name)) as [Value, Value, Value]
  return {
    state_name: NAME,
    total: numberAt(total, 'tick'),
    total_early: numberAt(total, 'early'),
    scale: field(bounds, 'scale'),
    most_ahead: field(bounds, 'mostAhead'),
    calls: count,
    ceiling: field(step, 'ceiling'),
    first_ahead: numberAt(first, 'tick'),
    first_early: numberAt(first, 'early'),
    last_ahead: numberAt(last, 'tick'),
    last_early: numberAt(last, 'early'),
    now,
    next: NULL,
    next_early: ZERO,
  }
}

/** Calls of one step on a bucket whose units take whole microseconds, in both languages. */
class Calls {
  readonly path: Path
  readonly now: Num
  readonly increment: Num
  readonly ceiling: Num
  readonly state: Num | undefined
  readonly before: Num
  readonly step: Obj
  /** The first call, and any later one, after the time of those before it. */
  readonly first: Obj
  readonly later: Obj
  readonly returned: Value
  readonly row: Row | undefined
  readonly total: Num
  readonly isLater: Bool
  /** That the numbers of SQL are exact. */
  readonly #ranges: readonly Bool[]

  constructor(source: string, sql: string, path: Path, isNew: boolean) {
    this.path = path
    this.now = path.input('now', 1, LATEST)
    const count = path.input('count', 1, 2 ** 20)
    this.increment = path.input('increment', 1, LONGEST)
    this.ceiling = path.input('ceiling', 0, LONGEST)
    const numbers = Object.fromEntries(
      ['check', 'tolerance', 'maxWaitMicros', 'burst'].map((name) => [name, path.input(name, 0, LONGEST)]),
    )
    this.step = bucketStep({ ...numbers, increment: this.increment, ceiling: this.ceiling })
    this.state = isNew ? undefined : path.input('state', -MOST, MOST)
    const variables = sentTo(source, path, count, this.step, this.now)
    this.total = variables['total'] as Num
    // Others are sent to another function.
    path.assume(
      both(...['total', 'first_ahead', 'last_ahead'].map((name) => isSafe(variables[name] as Num)), isSafe(this.total)),
    )
    const stored: Row | undefined = this.state && {
      name: NAME,
      tat: this.state,
      counts: NULL,
      expires: path.input('expires', 0, 2 * MOST),
    }
    const sqlFunction = new SqlFunction(sql, path, variables, stored)
    const others = path.ranges.length
    this.returned = sqlFunction.call()
    this.row = sqlFunction.row
    this.#ranges = path.ranges.splice(others)
    const kernel = new Interpreter(source, path)
    this.first = kernel.call('bucket', this.state ?? UNDEFINED, this.now, this.step) as Obj
    this.before = path.input('before', 0, MOST)
    this.isLater = both(atMost(this.increment, this.before), atMost(sum(this.before, this.increment), this.total))
    path.assume(either(this.isLater, equal(this.before, ZERO)))
    const found = path.name(this.signed(sum(base(this.first), this.before)))
    this.later = kernel.call('bucket', found, this.now, this.step) as Obj
  }

  /** That SQL counts exactly where TypeScript does. */
  get isExact(): Bool {
    return implies(both(...this.path.ranges), both(...this.#ranges))
  }

  /** A state, with the sign of a debt. */
  signed(tick: Num): Num {
    const isDebt = below(this.ceiling, difference(tick, this.now))
    return numeric(`(ite ${isDebt.term} (- ${tick.term}) ${tick.term})`)
  }
}

const isStored = (state: Value, tat: Num): Bool => (state.kind === 'number' ? equal(state, tat) : boolean(false))
const isSafe = (value: Num) => both(atMost(number(-(2 ** 53) + 1), value), atMost(value, number(2 ** 53 - 1)))

/** That the SQL function does what the kernel does in each of the calls, one after the other. */
export function sqlProperties(source: string, sql: string): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = {}
  for (const isNew of [true, false]) {
    const inState = `in the state of ${isNew ? 'a new key' : 'a number'}`
    properties[`calls of one step, ${inState}`] = (path) => {
      const calls = new Calls(source, sql, path, isNew)
      const { isExact, first, later, increment, returned, row, total, now } = calls
      if (returned.kind === 'const') return { 'another function': boolean(true) }
      const [, isTaken, tick] = Object.values((returned as Obj).fields) as Num[]
      if (isTaken?.known === 0) {
        return {
          'as exact': isExact,
          'the first call does not fit': not(allowed(first)),
          base: equal(tick as Num, base(first)),
          'the state is left': isStored(field(first, 'kept'), calls.state as Num),
        }
      }
      const [next, all] = [asNumber((row as Row)['tat'] as Value), sum(base(first), total)]
      return {
        'as exact': isExact,
        'the first call fits': allowed(first),
        'takes its units': equal(numberAt(first, 'next'), sum(base(first), increment)),
        'so does each later call': implies(calls.isLater, allowed(later)),
        'takes its units, too': implies(
          calls.isLater,
          equal(numberAt(later, 'next'), sum(base(first), sum(calls.before, increment))),
        ),
        'what is stored': isStored(field(first, 'taken'), calls.signed(sum(base(first), increment))),
        'what is stored in the end': both(equal(tick as Num, all), equal(next, calls.signed(all))),
        'no parts of a microsecond': boolean((row as Row)['counts'] === NULL),
        'not deleted too early': atMost(
          sum(greater(all, now), number(KEPT_MICROS)),
          asNumber((row as Row)['expires'] as Value),
        ),
      }
    }
  }
  return properties
}
