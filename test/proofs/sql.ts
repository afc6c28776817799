import { builtins } from './operations.ts'
import { parsedFunctions } from './parsed.ts'
import type { Path } from './path.ts'
import type { Sql } from './sql-expressions.ts'
import { isNull, listOf, sqlOperation } from './sql-operations.ts'
import { isPure, returns, type SqlFunction, type Statement } from './sql-syntax.ts'
import {
  asBoolean,
  type Bool,
  boolean,
  constant,
  type Fun,
  NULL,
  number,
  type Obj,
  object,
  type Value,
} from './values.ts'

/** A row of the table, which has columns. */
export type Row = Readonly<Record<string, Value>>

type Scope = Map<string, Value>

const FUNCTIONS: Readonly<Record<string, string>> = { greatest: 'Math.max', least: 'Math.min', abs: 'Math.abs' }
const CONSTANTS: Readonly<Record<string, Value>> = { NULL, true: boolean(true), false: boolean(false) }
/** What functions of PostgreSQL return that a kernel does not read. */
const UNREAD = ['concat', 'set_config', 'rtrim', 'repeat']

/** `NULL` is not true. */
const truthOf = (value: Value): Bool => (isNull(value) ? boolean(false) : asBoolean(value))

/**
 * Runs functions of SQL and PL/pgSQL on values that may be unknown. The table has one row or none, which no other call
 * changes. An array is an object with the fields 1, 2, and so on.
 */
export class SqlInterpreter {
  readonly #path: Path
  readonly #functions: ReadonlyMap<string, () => SqlFunction>
  readonly #replaced = new Map<string, Fun['call']>()
  row: Row | undefined

  constructor(source: string, path: Path, row?: Row) {
    this.#path = path
    this.#functions = parsedFunctions(source)
    this.row = row
  }

  /** Calls a function of the text, by the name that it has without that of the table. */
  call(name: string, ...args: readonly Value[]): Value {
    const before = this.#path.numbers
    this.#path.numbers = 'int8'
    try {
      return this.#callOwn(name, args)
    } finally {
      this.#path.numbers = before
    }
  }

  /** Makes a function of the text another one. */
  replace(name: string, call: Fun['call']): void {
    this.#replaced.set(name, call)
  }

  #callOwn(name: string, args: readonly Value[]): Value {
    const other = this.#replaced.get(name)
    if (other) return other(args)
    const made = this.#functions.get(name)
    if (made === undefined) throw new ReferenceError(`no function ${name}`)
    const { parameters, variables, statements } = made()
    const scope: Scope = new Map(parameters.map((each, i) => [each, args[i] ?? NULL]))
    for (const [variable, value] of variables) scope.set(variable, value ? this.#evaluate(value, scope) : NULL)
    const returned = this.#run(statements, scope, isPure(statements))
    if (returned === undefined || returned === 'exit') throw new TypeError(`${name} returns nothing`)
    return returned
  }

  /** Runs statements, and changes the variables of their scope. What they return. */
  #run(statements: readonly Statement[], scope: Scope, pure: boolean): Value | 'exit' | undefined {
    for (const [i, statement] of statements.entries()) {
      if (pure && returns(statement)) return this.#return(statement, statements.slice(i + 1), scope)
      const returned = this.#execute(statement, scope, pure)
      if (returned !== undefined) return returned
    }
    return undefined
  }

  #execute(statement: Statement, scope: Scope, pure: boolean): Value | 'exit' | undefined {
    const { kind, name, exprs, where, into, body, otherwise } = statement
    switch (kind) {
      case 'if':
        if (pure) return this.#change(statement, scope)
        return this.#run(this.#decide(where, scope) ? body : otherwise, scope, pure)
      case 'while':
        while (this.#decide(where, scope)) this.#run(body, scope, pure)
        return undefined
      case 'loop': {
        const returned = this.#run(body, scope, pure)
        if (returned === undefined) throw new TypeError('another call has changed the row')
        return returned === 'exit' ? undefined : returned
      }
      case 'exit':
        return this.#decide(where, scope) ? 'exit' : undefined
      case 'return':
        return this.#evaluate(exprs[0] as Sql, scope)
      case 'assign':
        scope.set(name, this.#evaluate(exprs[0] as Sql, scope))
        return undefined
      case 'select':
        this.#found(this.row !== undefined, into, exprs, scope)
        return undefined
      case 'update':
        this.#update(statement, scope)
        return undefined
      case 'insert':
        this.#insert(statement, scope)
        return undefined
    }
  }

  #update({ exprs, where, into }: Statement, scope: Scope): void {
    const sets = exprs.slice(0, exprs.length - into.length)
    const isFound = this.row !== undefined && this.#decide(where, scope)
    if (isFound) this.row = { ...this.row, ...this.#columns(sets, scope) }
    this.#found(isFound, into, exprs.slice(sets.length), scope)
  }

  #insert({ exprs, into }: Statement, scope: Scope): void {
    const isFound = this.row === undefined
    if (isFound) this.row = Object.fromEntries(into.map((each, i) => [each, this.#evaluate(exprs[i] as Sql, scope)]))
    this.#found(isFound, [], [], scope)
  }

  /** An `IF` of which a branch returns: each branch goes on with the rest. */
  #return({ where, body, otherwise }: Statement, rest: readonly Statement[], scope: Scope): Value {
    const side = (branch: readonly Statement[]) => (): Value =>
      this.#run([...branch, ...rest], new Map(scope), true) as Value
    return this.#path.choose(this.#truth(where, scope), side(body), side(otherwise))
  }

  /** An `IF` that only changes variables: each then has the value of one of the branches. */
  #change({ where, body, otherwise }: Statement, scope: Scope): undefined {
    const side = (branch: readonly Statement[]) => (): Value => {
      const inner = new Map(scope)
      this.#run(branch, inner, true)
      return object(Object.fromEntries(inner))
    }
    const changed = this.#path.choose(this.#truth(where, scope), side(body), side(otherwise))
    for (const [name, value] of Object.entries((changed as Obj).fields)) scope.set(name, value)
  }

  /** The variables are null if there is no row. */
  #found(isFound: boolean, into: readonly string[], exprs: readonly Sql[], scope: Scope): void {
    const values = exprs.map((each) => (isFound ? this.#evaluate(each, scope) : NULL))
    into.forEach((name, i) => {
      scope.set(name, values[i] as Value)
    })
    scope.set('FOUND', boolean(isFound))
  }

  #columns(sets: readonly Sql[], scope: Scope): Row {
    return Object.fromEntries(
      sets.map(({ args: [column, value] }) => [(column as Sql).name, this.#evaluate(value as Sql, scope)]),
    )
  }

  #truth(condition: Sql | undefined, scope: Scope): Bool {
    return truthOf(this.#evaluate(condition as Sql, scope))
  }

  #decide(condition: Sql | undefined, scope: Scope): boolean {
    return this.#path.decide(this.#truth(condition, scope))
  }

  #evaluate({ kind, name, args }: Sql, scope: Scope): Value {
    const each = (): readonly Value[] => args.map((arg) => this.#evaluate(arg, scope))
    switch (kind) {
      case 'number':
        return number(Number(name))
      case 'name':
        return name.startsWith("'") ? constant(name) : this.#named(name, scope)
      case 'array':
      case 'row':
        return listOf(each())
      case 'case':
        return this.#case(args, scope)
      case 'call':
        return this.#call(name.split('.limits_').at(-1) as string, args, scope)
      case 'operator':
        return sqlOperation(this.#path, name, each() as [Value, Value])
    }
  }

  #named(name: string, scope: Scope): Value {
    const value = name.startsWith('t.') ? this.row?.[name.slice(2)] : (scope.get(name) ?? CONSTANTS[name])
    if (value === undefined) throw new ReferenceError(`${name} is not defined`)
    return value
  }

  #case([condition, value, ...rest]: readonly Sql[], scope: Scope): Value {
    if (value === undefined) return this.#evaluate(condition as Sql, scope)
    return this.#path.choose(
      this.#truth(condition, scope),
      () => this.#evaluate(value, scope),
      () => this.#case(rest, scope),
    )
  }

  #call(name: string, args: readonly Sql[], scope: Scope): Value {
    if (UNREAD.includes(name)) return constant(name)
    if (name === 'coalesce') {
      const [first, ...rest] = args as [Sql, ...Sql[]]
      const value = this.#evaluate(first, scope)
      return isNull(value) && rest.length > 0 ? this.#call(name, rest, scope) : value
    }
    const values = args.map((each) => this.#evaluate(each, scope))
    if (name === 'concat_ws') return listOf(values.slice(1))
    const builtin = builtins[FUNCTIONS[name] ?? '']
    if (builtin?.kind !== 'call') return this.#callOwn(name, values)
    const known = values.filter((each) => !isNull(each))
    return known.length === 0 ? NULL : builtin.run(this.#path, known)
  }
}
