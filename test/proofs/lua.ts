import type {
  AssignmentStatement,
  CallExpression,
  Expression,
  FunctionDeclaration,
  Identifier,
  IfStatement,
  LocalStatement,
  Statement,
  TableConstructorExpression,
} from 'luaparse'
import { libraryOf } from './lua-library.ts'
import { branchesOf, isSingle, localsOf, returns, truthOf } from './lua-syntax.ts'
import { binaryOperation } from './operations.ts'
import { parsedScript } from './parsed.ts'
import type { Path } from './path.ts'
import {
  type Bool,
  boolean,
  called,
  constant,
  type Fun,
  field,
  nameOf,
  not,
  number,
  type Obj,
  object,
  UNDEFINED,
  type Value,
} from './values.ts'

type Scope = Map<string, Value>

/** What a call returns: any number of values. */
const listOf = (values: readonly Value[]): Obj => object(Object.fromEntries(values.entries()))
const valuesOf = (list: Value): readonly Value[] => Object.values((list as Obj).fields)

const OPERATORS: Readonly<Record<string, string>> = { '==': '===', '~=': '!==' }

/** Runs functions of a Lua script on values that may be unknown. A table is never changed, and `nil` is `undefined`. */
export class LuaInterpreter {
  readonly #path: Path
  readonly #source: string
  readonly #script = new Map<string, () => Value>()

  constructor(source: string, path: Path) {
    this.#path = path
    this.#source = source
    for (const statement of parsedScript(source).body) {
      if (statement.type === 'FunctionDeclaration') {
        const made = this.#functionOf(statement)
        this.#script.set((statement.identifier as Identifier).name, () => made)
      } else if (statement.type === 'LocalStatement') {
        statement.variables.forEach(({ name }, i) => {
          const init = statement.init[i] as Expression
          const isOwn = init.type === 'Identifier' && init.name === name
          this.#script.set(name, () => (isOwn ? this.#libraryOf(name) : this.#evaluate(init, new Map())))
        })
      }
    }
  }

  /** The values that a function of the script returns. */
  call(name: string, ...args: readonly Value[]): readonly Value[] {
    return valuesOf(called(this.#named(name), args))
  }

  /** Makes a function of the script another one, of one value. */
  replace(name: string, call: Fun['call']): void {
    this.#script.set(name, () => ({ kind: 'function', call: (args) => listOf([call(args)]) }))
  }

  #functionOf({ parameters, body }: FunctionDeclaration): Fun {
    return {
      kind: 'function',
      call: (args) => {
        const scope = new Map(parameters.map((each, i) => [(each as Identifier).name, args[i] ?? UNDEFINED]))
        return this.#run(body, scope) ?? listOf([])
      },
    }
  }

  /** Runs statements, and changes the variables of their scope. The list of values, if they return. */
  #run(statements: readonly Statement[], scope: Scope): Obj | undefined {
    for (const [i, statement] of statements.entries()) {
      switch (statement.type) {
        case 'LocalStatement':
        case 'AssignmentStatement':
          this.#assign(statement, scope)
          break
        case 'WhileStatement':
          while (this.#path.decide(this.#truth(statement.condition, scope))) this.#run(statement.body, scope)
          break
        case 'ReturnStatement':
          return listOf(this.#all(statement.arguments, scope))
        case 'IfStatement':
          if (returns(statement)) return this.#return(statement, statements.slice(i + 1), scope)
          this.#change(statement, scope)
          break
        default:
          throw new TypeError(`a kernel has no ${statement.type}`)
      }
    }
    return undefined
  }

  #assign({ variables, init }: LocalStatement | AssignmentStatement, scope: Scope): void {
    const values = this.#all(init, scope)
    variables.forEach((variable, i) => {
      if (variable.type !== 'Identifier') throw new TypeError('a kernel changes no table')
      scope.set(variable.name, values[i] ?? UNDEFINED)
    })
  }

  /** An `if` of which a branch returns: each branch goes on with the rest. */
  #return(statement: IfStatement, rest: readonly Statement[], scope: Scope): Obj {
    const { condition, then, otherwise } = branchesOf(statement)
    const side = (body: readonly Statement[]) => (): Value =>
      this.#run([...body, ...rest], new Map(scope)) ?? listOf([])
    return this.#path.choose(this.#truth(condition, scope), side(then), side(otherwise)) as Obj
  }

  /** An `if` that only changes variables: each then has the value of one of the branches. */
  #change(statement: IfStatement, scope: Scope): void {
    const { condition, then, otherwise } = branchesOf(statement)
    const side = (body: readonly Statement[]) => (): Value => {
      const inner = new Map(scope)
      this.#run(body, inner)
      const locals = localsOf(body)
      return object(
        Object.fromEntries(
          [...scope].map(([name, value]) => [name, locals.has(name) ? value : (inner.get(name) as Value)]),
        ),
      )
    }
    const changed = this.#path.choose(this.#truth(condition, scope), side(then), side(otherwise)) as Obj
    for (const [name, value] of Object.entries(changed.fields)) scope.set(name, value)
  }

  /** The values of a list of expressions: all values of a call in its last place, unless that is in parentheses. */
  #all(expressions: readonly Expression[], scope: Scope, list?: CallExpression): readonly Value[] {
    return expressions.flatMap((expression, i) =>
      expression.type === 'CallExpression' && i === expressions.length - 1 && !isSingle(this.#source, expression, list)
        ? valuesOf(this.#call(expression, scope))
        : [this.#evaluate(expression, scope)],
    )
  }

  #call(node: CallExpression, scope: Scope): Value {
    return called(this.#evaluate(node.base, scope), this.#all(node.arguments, scope, node))
  }

  #named(name: string): Value {
    const value = this.#script.get(name)
    return value ? value() : this.#libraryOf(name)
  }

  #libraryOf(name: string): Fun {
    return { kind: 'function', call: (args) => listOf([libraryOf(name)(this.#path, args)]) }
  }

  #truth(node: Expression, scope: Scope): Bool {
    return truthOf(this.#evaluate(node, scope))
  }

  #evaluate(node: Expression, scope: Scope): Value {
    switch (node.type) {
      case 'NilLiteral':
        return UNDEFINED
      case 'NumericLiteral':
        return number(node.value)
      case 'BooleanLiteral':
        return boolean(node.value)
      case 'StringLiteral':
        return constant(node.value)
      case 'Identifier':
        return scope.get(node.name) ?? this.#named(node.name)
      case 'MemberExpression':
        if (node.base.type === 'Identifier' && node.base.name === 'math') return this.#libraryOf(node.identifier.name)
        return field(this.#evaluate(node.base, scope), node.identifier.name)
      case 'IndexExpression':
        return field(this.#evaluate(node.base, scope), nameOf(this.#evaluate(node.index, scope)))
      case 'TableConstructorExpression':
        return this.#table(node, scope)
      case 'UnaryExpression':
        if (node.operator === 'not') return not(this.#truth(node.argument, scope))
        if (node.operator === '-')
          return binaryOperation(this.#path, '-', number(0), this.#evaluate(node.argument, scope))
        throw new TypeError(`a kernel has no ${node.operator}`)
      case 'BinaryExpression': {
        const left = this.#evaluate(node.left, scope)
        const operator = OPERATORS[node.operator] ?? node.operator
        // The remainder of Lua has another sign than that of JavaScript.
        if (operator === '%') throw new TypeError('a kernel has no %')
        return binaryOperation(this.#path, operator, left, this.#evaluate(node.right, scope))
      }
      case 'LogicalExpression':
        return node.operator === 'and'
          ? this.#and(node.left, node.right, scope)
          : this.#or(node.left, node.right, scope)
      case 'CallExpression':
        return valuesOf(this.#call(node, scope))[0] ?? UNDEFINED
      default:
        throw new TypeError(`a kernel has no ${node.type}`)
    }
  }

  #and(left: Expression, right: Expression, scope: Scope): Value {
    const first = this.#evaluate(left, scope)
    return this.#path.choose(
      truthOf(first),
      () => this.#evaluate(right, scope),
      () => (first.kind === 'boolean' ? boolean(false) : first),
    )
  }

  /** `a and b or c` has the value of one of two branches, without the values that are not true on the way. */
  #or(left: Expression, right: Expression, scope: Scope): Value {
    const orRight = (first: Value): Value =>
      this.#path.choose(
        truthOf(first),
        () => (first.kind === 'boolean' ? boolean(true) : first),
        () => this.#evaluate(right, scope),
      )
    if (left.type !== 'LogicalExpression' || left.operator !== 'and') return orRight(this.#evaluate(left, scope))
    return this.#path.choose(
      this.#truth(left.left, scope),
      () => orRight(this.#evaluate(left.right, scope)),
      () => this.#evaluate(right, scope),
    )
  }

  #table({ fields }: TableConstructorExpression, scope: Scope): Obj {
    return object(
      Object.fromEntries(
        fields.map((each) => {
          if (each.type === 'TableValue') throw new TypeError('a kernel makes no list')
          const name = each.type === 'TableKeyString' ? each.key.name : nameOf(this.#evaluate(each.key, scope))
          return [name, this.#evaluate(each.value, scope)]
        }),
      ),
    )
  }
}
