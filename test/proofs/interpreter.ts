import type {
  ArrowFunctionExpression,
  BlockStatement,
  CallExpression,
  Expression,
  FunctionDeclaration,
  Identifier,
  MemberExpression,
  ObjectExpression,
  Pattern,
  Statement,
  SwitchStatement,
} from 'acorn'
import { arrayMethods, arrayOf, elementsOf } from './arrays.ts'
import { bind } from './binding.ts'
import { binaryOperation, builtins, globals, isSame } from './operations.ts'
import { parsedProgram } from './parsed.ts'
import type { Path } from './path.ts'
import {
  asBoolean,
  asNumber,
  boolean,
  called,
  constant,
  type Fun,
  field,
  literal,
  nameOf,
  not,
  number,
  object,
  truthOf,
  UNDEFINED,
  type Value,
} from './values.ts'

type Scope = Map<string, Value>

/** Runs functions of a program on values that may be unknown. It understands the part of JavaScript that kernels use. */
export class Interpreter {
  readonly #path: Path
  readonly #module = new Map<string, () => Value>()

  constructor(source: string, path: Path) {
    this.#path = path
    for (const statement of parsedProgram(source).body) {
      if (statement.type === 'FunctionDeclaration') {
        const made = this.#functionOf(statement, new Map())
        this.#module.set(statement.id.name, () => made)
      } else if (statement.type === 'VariableDeclaration') {
        for (const { id, init } of statement.declarations) {
          let known: Value | undefined
          const value = (): Value => (known ??= this.#evaluate(init as Expression, new Map()))
          if (id.type === 'Identifier') this.#module.set(id.name, value)
        }
      }
    }
  }

  /** Calls a function of the program, whether it is exported or not. */
  call(name: string, ...args: readonly Value[]): Value {
    return called(this.#named(name), args)
  }

  /** Makes a function of the program another one. */
  replace(name: string, call: Fun['call']): void {
    this.#module.set(name, () => ({ kind: 'function', call }))
  }

  #functionOf(node: FunctionDeclaration | ArrowFunctionExpression, outer: Scope): Fun {
    return {
      kind: 'function',
      call: (args) => {
        const scope = new Map(outer)
        node.params.forEach((param, i) => {
          this.#bind(param, args[i] ?? UNDEFINED, scope)
        })
        const { body } = node
        if (body.type !== 'BlockStatement') return this.#evaluate(body, scope)
        return this.#run(body.body, scope)
      },
    }
  }

  /** The value that these statements return. */
  #run(statements: readonly Statement[], scope: Scope): Value {
    const [first, ...rest] = statements
    switch (first?.type) {
      case undefined:
        return UNDEFINED
      case 'ReturnStatement':
        return first.argument ? this.#evaluate(first.argument, scope) : UNDEFINED
      case 'VariableDeclaration':
        for (const { id, init } of first.declarations) this.#bind(id, this.#evaluate(init as Expression, scope), scope)
        return this.#run(rest, scope)
      case 'IfStatement': {
        const then = [...blockOf(first.consequent), ...rest]
        const otherwise = [...(first.alternate ? blockOf(first.alternate) : []), ...rest]
        return this.#path.choose(
          truthOf(this.#evaluate(first.test, scope)),
          () => this.#run(then, new Map(scope)),
          () => this.#run(otherwise, new Map(scope)),
        )
      }
      case 'SwitchStatement':
        return this.#run([...this.#caseOf(first, scope), ...rest], scope)
      default:
        throw new TypeError(`a kernel has no ${first?.type}`)
    }
  }

  /** The statements of the case that applies, which is known and returns. */
  #caseOf({ discriminant, cases }: SwitchStatement, scope: Scope): readonly Statement[] {
    const value = this.#evaluate(discriminant, scope)
    const found = cases.find(({ test }) => !test || isSame(value, this.#evaluate(test, scope)).known === true)
    return (found?.consequent ?? []).flatMap(blockOf)
  }

  #bind(pattern: Pattern, value: Value, scope: Scope): void {
    bind(pattern, value, scope, (node) => this.#evaluate(node, scope))
  }

  #evaluate(node: Expression, scope: Scope): Value {
    switch (node.type) {
      case 'Literal':
        return literal(node.value)
      case 'Identifier':
        return scope.get(node.name) ?? globals[node.name] ?? this.#named(node.name)
      case 'ChainExpression':
        return this.#evaluate(node.expression, scope)
      case 'ArrowFunctionExpression':
        return this.#functionOf(node, scope)
      case 'ObjectExpression':
        return object(this.#fieldsOf(node, scope))
      case 'ArrayExpression':
        return arrayOf(
          node.elements.flatMap((element) =>
            element?.type === 'SpreadElement'
              ? elementsOf(this.#evaluate(element.argument, scope))
              : [this.#evaluate(element as Expression, scope)],
          ),
        )
      case 'NewExpression': {
        const length = asNumber(this.#evaluate(node.arguments[0] as Expression, scope)).known
        if ((node.callee as Identifier).name !== 'Array') throw new TypeError('a kernel makes arrays only')
        return arrayOf(new Array<Value>(length as number).fill(UNDEFINED))
      }
      case 'MemberExpression':
        return this.#member(node, scope)
      case 'UnaryExpression':
        return this.#unary(node.operator, node.argument, scope)
      case 'BinaryExpression': {
        const left = this.#evaluate(node.left as Expression, scope)
        return binaryOperation(this.#path, node.operator, left, this.#evaluate(node.right, scope))
      }
      case 'LogicalExpression':
        return this.#logical(node.operator, node.left, node.right, scope)
      case 'ConditionalExpression':
        return this.#path.choose(
          truthOf(this.#evaluate(node.test, scope)),
          () => this.#evaluate(node.consequent, scope),
          () => this.#evaluate(node.alternate, scope),
        )
      case 'CallExpression':
        return this.#call(node, scope)
      default:
        throw new TypeError(`a kernel has no ${node.type}`)
    }
  }

  #member(node: MemberExpression, scope: Scope): Value {
    const name = node.computed
      ? nameOf(this.#evaluate(node.property as Expression, scope))
      : (node.property as Identifier).name
    const known = node.object.type === 'Identifier' ? builtins[`${node.object.name}.${name}`] : undefined
    if (known?.kind === 'number') return known
    const target = this.#evaluate(node.object as Expression, scope)
    return node.optional && target.kind === 'const' ? UNDEFINED : field(target, name)
  }

  #call({ callee, arguments: given }: CallExpression, scope: Scope): Value {
    const args = given.map((each) => this.#evaluate(each as Expression, scope))
    if (callee.type === 'MemberExpression') {
      const { name } = callee.property as Identifier
      const builtin = callee.object.type === 'Identifier' ? builtins[`${callee.object.name}.${name}`] : undefined
      if (builtin?.kind === 'call') return builtin.run(this.#path, args)
      const target = this.#evaluate(callee.object as Expression, scope)
      if (callee.optional && target.kind === 'const') return UNDEFINED
      const method = arrayMethods[name]
      if (method === undefined) throw new TypeError(`a kernel does not call ${name}`)
      return method(elementsOf(target), args)
    }
    return called(this.#evaluate(callee as Expression, scope), args)
  }

  /** The fields of an object. Each is evaluated when it is read: a path does not fork for a result that no property reads. */
  #fieldsOf(node: ObjectExpression, scope: Scope): Record<string, Value> {
    const fields: Record<string, Value> = {}
    for (const property of node.properties) {
      if (property.type === 'SpreadElement') {
        const spread = this.#evaluate(property.argument, scope)
        if (spread.kind === 'object') Object.defineProperties(fields, Object.getOwnPropertyDescriptors(spread.fields))
      } else {
        const evaluate = this.#path.later(() => this.#evaluate(property.value, scope))
        let known: Value | undefined
        const get = (): Value => (known ??= evaluate())
        Object.defineProperty(fields, (property.key as Identifier).name, { get, enumerable: true, configurable: true })
      }
    }
    return fields
  }

  #named(name: string): Value {
    const value = this.#module.get(name)
    if (value === undefined) throw new ReferenceError(`${name} is not defined`)
    return value()
  }

  #unary(operator: string, argument: Expression, scope: Scope): Value {
    if (operator === 'void') return UNDEFINED
    if (operator === '!') return not(truthOf(this.#evaluate(argument, scope)))
    const value = this.#evaluate(argument, scope)
    if (operator === 'typeof') return constant(value.kind === 'const' ? typeof value.value : value.kind)
    if (operator === '-') return binaryOperation(this.#path, '-', number(0), value)
    throw new TypeError(`a kernel has no ${operator}`)
  }

  #logical(operator: string, left: Expression, right: Expression, scope: Scope): Value {
    const first = this.#evaluate(left, scope)
    const second = (): Value => this.#evaluate(right, scope)
    if (operator === '??') {
      return first.kind === 'const' && (first.value === undefined || first.value === null) ? second() : first
    }
    const condition = asBoolean(first)
    return operator === '&&'
      ? this.#path.choose(condition, second, () => boolean(false))
      : this.#path.choose(condition, () => boolean(true), second)
  }
}

const blockOf = (statement: Statement): readonly Statement[] =>
  statement.type === 'BlockStatement' ? (statement as BlockStatement).body : [statement]
