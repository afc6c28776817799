import { binaryOperation, builtins } from './operations.ts'
import { parsedFunction } from './parsed.ts'
import type { Path } from './path.ts'
import type { Sql, Statement } from './sql-syntax.ts'
import {
  asNumber,
  atMost,
  type Bool,
  boolean,
  both,
  constant,
  either,
  field,
  logical,
  NULL,
  not,
  number,
  object,
  type Value,
  ZERO,
} from './values.ts'

/** A row of the table, which has columns. */
export type Row = Readonly<Record<string, Value>>

type Scope = Map<string, Value>

const OPERATORS: Readonly<Record<string, string>> = { '=': '===', '<>': '!==' }
const FUNCTIONS: Readonly<Record<string, string>> = { greatest: 'Math.max', least: 'Math.min', abs: 'Math.abs' }

const isNull = (value: Value): boolean => value === NULL
/** `NULL` is not true. */
const truthOf = (value: Value): Bool => (value.kind === 'boolean' ? value : boolean(false))

/** Runs a function of PL/pgSQL on values that may be unknown, on a table of one row or none that no other call changes. */
export class SqlFunction {
  readonly #path: Path
  readonly #statements: readonly Statement[]
  readonly #scope: Scope
  row: Row | undefined

  constructor(source: string, path: Path, variables: Readonly<Record<string, Value>>, row: Row | undefined) {
    this.#path = path
    this.#statements = parsedFunction(source)
    this.#scope = new Map(Object.entries({ NULL, ...variables }))
    this.row = row
  }

  /** What the function returns. */
  call(): Value {
    this.#path.numbers = 'int8'
    const returned = this.#run(this.#statements)
    this.#path.numbers = 'double'
    if (returned === undefined || returned === 'exit') throw new TypeError('the function returns nothing')
    return returned
  }

  #run(statements: readonly Statement[]): Value | 'exit' | undefined {
    for (const statement of statements) {
      const returned = this.#execute(statement)
      if (returned !== undefined) return returned
    }
    return undefined
  }

  #execute({ kind, name, exprs, where, into, body, otherwise }: Statement): Value | 'exit' | undefined {
    switch (kind) {
      case 'if':
        return this.#run(this.#decide(where) ? body : otherwise)
      case 'loop': {
        const returned = this.#run(body)
        if (returned === undefined) throw new TypeError('another call has changed the row')
        return returned === 'exit' ? undefined : returned
      }
      case 'exit':
        return this.#decide(where) ? 'exit' : undefined
      case 'return':
        return this.#evaluate(exprs[0] as Sql)
      case 'assign':
        this.#scope.set(name, this.#evaluate(exprs[0] as Sql))
        return undefined
      case 'select':
        this.#found(this.row !== undefined, into, exprs)
        return undefined
      case 'update': {
        const sets = exprs.slice(0, exprs.length - into.length)
        const isFound = this.row !== undefined && this.#decide(where)
        if (isFound) this.row = { ...this.row, ...this.#columns(sets) }
        this.#found(isFound, into, exprs.slice(sets.length))
        return undefined
      }
      case 'insert': {
        const isFound = this.row === undefined
        if (isFound) this.row = Object.fromEntries(into.map((each, i) => [each, this.#evaluate(exprs[i] as Sql)]))
        this.#found(isFound, [], [])
        return undefined
      }
    }
  }

  /** The variables are null if there is no row. */
  #found(isFound: boolean, into: readonly string[], exprs: readonly Sql[]): void {
    const values = exprs.map((each) => (isFound ? this.#evaluate(each) : NULL))
    into.forEach((name, i) => {
      this.#scope.set(name, values[i] as Value)
    })
    this.#scope.set('FOUND', boolean(isFound))
  }

  #columns(sets: readonly Sql[]): Row {
    return Object.fromEntries(
      sets.map(({ args: [column, value] }) => [(column as Sql).name, this.#evaluate(value as Sql)]),
    )
  }

  #decide(condition: Sql | undefined): boolean {
    return this.#path.decide(truthOf(this.#evaluate(condition as Sql)))
  }

  #evaluate({ kind, name, args }: Sql): Value {
    switch (kind) {
      case 'number':
        return number(Number(name))
      case 'name':
        return name.startsWith("'") ? constant(name) : this.#named(name)
      case 'array':
        return object(Object.fromEntries(args.map((each, i) => [i + 1, this.#evaluate(each)])))
      case 'case':
        return this.#case(args)
      case 'call':
        return this.#call(name, args)
      case 'operator':
        return this.#operation(name, args.map((each) => this.#evaluate(each)) as [Value, Value])
    }
  }

  #named(name: string): Value {
    const value = name.startsWith('t.') ? this.row?.[name.slice(2)] : this.#scope.get(name)
    if (value === undefined) throw new ReferenceError(`${name} is not defined`)
    return value
  }

  /** Forks, so that a sign is known where it is multiplied. */
  #case(args: readonly Sql[]): Value {
    const [condition, value, ...rest] = args as [Sql, Sql]
    if (value === undefined) return this.#evaluate(condition)
    return this.#decide(condition) ? this.#evaluate(value) : this.#case(rest)
  }

  #call(name: string, args: readonly Sql[]): Value {
    // What the other function does is proved elsewhere, or not at all.
    if (name.endsWith('take_calls"')) return constant('take_calls')
    const values = args.map((each) => this.#evaluate(each))
    if (name === 'concat_ws') return object(Object.fromEntries(values.slice(1).entries()))
    const builtin = builtins[FUNCTIONS[name] ?? '']
    if (builtin?.kind !== 'call') throw new ReferenceError(`no function ${name}`)
    return builtin.run(
      this.#path,
      values.filter((each) => !isNull(each)),
    )
  }

  #operation(name: string, [a, b]: readonly [Value, Value]): Value {
    if (name === 'AND') return known(both(truthOf(a), truthOf(b)), truthOf(a), truthOf(b), false)
    if (name === 'OR') return known(either(truthOf(a), truthOf(b)), truthOf(a), truthOf(b), true)
    if (name === 'IS NOT TRUE') return not(truthOf(a))
    if (isNull(a) || isNull(b)) return NULL
    if (name === '[]') return field(a, asNumber(b).term)
    if (name !== '/' && name !== '%') return binaryOperation(this.#path, OPERATORS[name] ?? name, a, b)
    const [top, bottom] = [asNumber(a), asNumber(b)]
    // Below 0, SQL rounds towards it.
    this.#path.claim(atMost(ZERO, top))
    if (bottom.known === 1) return name === '/' ? top : ZERO
    if (name === '%') return binaryOperation(this.#path, name, top, bottom)
    return (builtins['Math.floor'] as { run: (path: Path, args: readonly Value[]) => Value }).run(this.#path, [
      { kind: 'ratio', top, bottom },
    ])
  }
}

/** A condition that is decided by one of its parts, or by both. */
function known(condition: Bool, a: Bool, b: Bool, decisive: boolean): Bool {
  if (a.known === decisive || b.known === decisive) return boolean(decisive)
  if (a.known !== undefined && b.known !== undefined) return boolean(!decisive)
  return logical(condition.term)
}
