import type { Exact } from './exact.ts'
import type { Path } from './path.ts'
import { type Row, SqlInterpreter } from './sql.ts'
import { elementsOf } from './sql-operations.ts'
import { boolean, constant, field, type Num, numberAt, type Obj, type Value } from './values.ts'

const NAME = constant('name')

/** What runs `take_bucket` of a text, on a row or none, for some calls of one step. */
export class TakeBucket {
  /** The arguments, as the store sends them. */
  readonly sent: Readonly<Record<'total' | 'totalEarly' | 'firstAhead' | 'lastAhead', Num>>
  readonly #sql: SqlInterpreter
  readonly #args: readonly Value[]

  constructor(bounds: Value, sql: string, path: Path, count: Num, step: Obj, now: Num, row: Row | undefined) {
    const [total, first, last] = ['total', 'first', 'last'].map((name) => exactAt(field(bounds, name))) as Exacts
    this.sent = { total: total.tick, totalEarly: total.early, firstAhead: first.tick, lastAhead: last.tick }
    this.#args = [
      NAME,
      ...[total.tick, total.early, field(bounds, 'scale'), field(bounds, 'mostAhead'), count, field(step, 'ceiling')],
      ...[first.tick, first.early, last.tick, last.early],
      ...[constant('steps'), now, constant('lock timeout'), boolean(false)],
    ]
    this.#sql = new SqlInterpreter(sql, path, row && { name: NAME, ...row })
    // What the other function does is proved elsewhere, or not at all.
    this.#sql.replace('take_calls', () => constant('take_calls'))
  }

  /** The numbers that it returns; undefined if it calls another function. */
  run(): readonly Num[] | undefined {
    const returned = this.#sql.call('take_bucket', ...this.#args)
    return returned.kind === 'object' ? (elementsOf(returned) as readonly Num[]) : undefined
  }

  get row(): Row | undefined {
    return this.#sql.row
  }
}

type Exacts = [Exact, Exact, Exact]

export const exactAt = (value: Value): Exact => ({ tick: numberAt(value, 'tick'), early: numberAt(value, 'early') })
