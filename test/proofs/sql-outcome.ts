import { Interpreter } from './interpreter.ts'
import { isSame } from './operations.ts'
import type { Path } from './path.ts'
import { SqlInterpreter } from './sql.ts'
import { elementsOf, isNull, listOf } from './sql-operations.ts'
import {
  asBoolean,
  type Bool,
  boolean,
  difference,
  field,
  greater,
  NULL,
  type Num,
  type Obj,
  ONE,
  object,
  UNDEFINED,
  type Value,
  ZERO,
} from './values.ts'

/** Kernels whose state is an array: their function, the length of the array, and the names of the numbers in it. */
const ARRAYS = {
  'sliding-window': ['sliding_window', 3, ['start', 'current', 'previous']],
  penalty: ['penalty', 11, ['writtenAt', 'first', 'count', 'until', 'level', 'last']],
  'warm-up': ['warm_up', 9, ['writtenAt', 'ahead', 'early', 'cold', 'scale']],
} as const

/** The array that is stored for a state; null if there is none. */
export function arrayOf(kernel: keyof typeof ARRAYS, state: Value): Value {
  const [, length, names] = ARRAYS[kernel]
  if (state.kind !== 'object') return NULL
  return listOf([...names.map((each) => field(state, each)), ...new Array<Value>(length - names.length).fill(ZERO)])
}

/** A kernel in SQL, with steps and outcomes as the one in TypeScript has them. */
export class SqlKernels {
  readonly sql: SqlInterpreter
  readonly #path: Path
  readonly #program: Interpreter

  /** Whether states of buckets are their ticks, because `state_at` is compared apart. */
  readonly #isTicks: boolean

  constructor(source: string, sql: string, path: Path, isTicks = false) {
    this.#path = path
    this.#isTicks = isTicks
    this.sql = new SqlInterpreter(sql, path)
    this.#program = new Interpreter(source, path)
    this.#program.replace('formatNumbers', ([numbers]) => numbers as Value)
  }

  /** The numbers of a step, as the store sends them. */
  numbersOf(step: Obj): Obj {
    return listOf(elementsOf(this.#program.call('numbersOf', step)))
  }

  outcome(kernel: 'bucket' | keyof typeof ARRAYS, state: Value, now: Num, step: Obj): Obj {
    const numbers = this.numbersOf(step)
    return kernel === 'bucket' ? this.#bucket(state, now, step, numbers) : this.#counts(kernel, state, now, numbers)
  }

  /** A state is null if nothing is stored, or what is stored stays. */
  #counts(kernel: keyof typeof ARRAYS, state: Value, now: Num, numbers: Obj): Obj {
    const [name, length, names] = ARRAYS[kernel]
    const outcome = this.sql.call(name, arrayOf(kernel, state), now, numbers)
    const stateOf = (list: Value): Value =>
      isNull(list)
        ? UNDEFINED
        : object(Object.fromEntries(names.map((each, i) => [each, elementsOf(list)[i] as Value])))
    const [taken, kept] = [ONE, ZERO].map((one) => this.sql.call('state_of', outcome, numbers, boolean(one === ONE)))
    const all = elementsOf(outcome)
    return object({
      allowed: isSame(all[0] as Value, ONE),
      base: stateOf(listOf(all.slice(3, 3 + length))),
      next: stateOf(listOf(all.slice(3 + length))),
      taken: isNull(taken as Value) ? state : stateOf(taken as Value),
      kept: isNull(kept as Value) ? state : stateOf(kept as Value),
    })
  }

  #bucket(state: Value, now: Num, step: Obj, numbers: Obj): Obj {
    const [tat, early, refunded] = this.#storedAs(state, step)
    const all = elementsOf(this.sql.call('bucket', tat, early, refunded, now, numbers))
    const [allowed, base, next, grossNext, ofBase, ofTat, ofGross] = all as [Num, ...Value[]]
    return object({
      allowed: isSame(allowed, ONE),
      base: base as Value,
      next: next as Value,
      grossNext: grossNext as Value,
      early: object({ base: ofBase as Value, tat: ofTat as Value, gross: ofGross as Value }),
      taken: this.stateOf(all.slice(7, 12), step) ?? UNDEFINED,
      kept: this.stateOf(all.slice(12), step) ?? state,
    })
  }

  /** The state of a bucket as it is read from a row: `tat`, its early if that has the scale of the step, and what is refunded. */
  #storedAs(state: Value, step: Obj): readonly [tat: Value, early: Value, refunded: Value] {
    if (state.kind !== 'object') return [state.kind === 'number' ? state : NULL, ZERO, NULL]
    const { tat, gross, turn, scale, early, grossEarly } = state.fields as Record<string, Num>
    const refunds = [tat, gross, turn, ZERO] as readonly Value[]
    if (scale === undefined) return [NULL, ZERO, listOf([...refunds, ZERO])]
    if (!isWithoutRefunds(state)) return [NULL, ZERO, listOf([...refunds, scale, early as Value, grossEarly as Value])]
    const isOwn = isSame(scale, scaleOf(step))
    return [
      tat as Value,
      this.#path.choose(
        asBoolean(isOwn),
        () => early as Value,
        () => ZERO,
      ),
      NULL,
    ]
  }

  /** A state of five numbers as it is written to a row; undefined if they are null. */
  stateOf([tat, gross, turn, early, grossEarly]: readonly Value[], step: Obj): Value | undefined {
    if (isNull(tat as Value)) return undefined
    if (this.#isTicks) return object({ tick: tat, gross, turn, early, grossEarly } as Record<string, Value>)
    const whole = { tat: tat as Value, gross: gross as Value, turn: turn as Value }
    const parts = { scale: scaleOf(step), early: early as Value, grossEarly: grossEarly as Value }
    const [isWhole, isGrossWhole] = [early, grossEarly].map((each) => asBoolean(isSame(each as Value, ZERO)))
    if (!isNull(gross as Value)) {
      const isPlain = (): Value => isGrossWhole as Value
      const none = this.#path.choose(isWhole as Bool, isPlain, () => boolean(false))
      return this.#path.choose(
        asBoolean(none),
        () => object(whole),
        () => object({ ...whole, ...parts }),
      )
    }
    const full = this.#path.name(greater(tat as Num, difference(ZERO, tat as Num)))
    const plain = { tat: tat as Value, gross: full, turn: ZERO, ...parts, grossEarly: early as Value }
    return this.#path.choose(
      isWhole as Bool,
      () => tat as Value,
      () => object(plain),
    )
  }
}

/** The scale of a step: 1 if its numbers are whole. */
function scaleOf(step: Obj): Value {
  const fraction = field(step, 'fraction')
  return fraction.kind === 'object' ? field(fraction, 'scale') : ONE
}

/** Whether a state with parts of a microsecond has none but those of `tat`: then its row has fewer numbers. */
function isWithoutRefunds({ fields }: Obj): boolean {
  const { tat, gross, turn, early, grossEarly } = fields as Record<
    'tat' | 'gross' | 'turn' | 'early' | 'grossEarly',
    Num
  >
  const isFull = gross.known === undefined || gross.known === Math.abs(tat.known as number)
  return isFull && turn.known === 0 && isSame(early, grossEarly).known === true
}
