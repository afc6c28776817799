import { binaryOperation, builtins, isSame } from './operations.ts'
import type { Path } from './path.ts'
import {
  asBoolean,
  asNumber,
  atMost,
  boolean,
  NULL,
  type Num,
  not,
  type Obj,
  ONE,
  object,
  type Value,
  ZERO,
} from './values.ts'

const OPERATORS: Readonly<Record<string, string>> = { '=': '===', '<>': '!==' }

export const isNull = (value: Value): boolean => value === NULL

/** An array or a row: an object with the fields 1, 2, and so on. */
export const listOf = (values: readonly Value[]): Obj =>
  object(Object.fromEntries(values.map((each, i) => [i + 1, each])))

export const elementsOf = (list: Value): readonly Value[] => Object.values((list as Obj).fields)

/** An operation. Those of numbers and arrays are null if one of their values is. */
export function sqlOperation(path: Path, name: string, [a, b, c]: readonly [Value, Value, Value?]): Value {
  const value = operationOnNulls(path, name, a, b)
  if (value !== undefined) return value
  return isNull(a) || (b !== undefined && isNull(b)) ? NULL : operation(path, name, a, b, c)
}

/** An operation that has a meaning for null. */
function operationOnNulls(path: Path, name: string, a: Value, b: Value): Value | undefined {
  switch (name) {
    case 'AND':
      return logicalOperation(path, a, b, false)
    case 'OR':
      return logicalOperation(path, a, b, true)
    case 'NOT':
      return isNull(a) ? NULL : not(asBoolean(a))
    case 'IS NOT TRUE':
      return isNull(a) ? boolean(true) : not(asBoolean(a))
    case 'IS NULL':
      return boolean(isNull(a))
    case 'IS NOT NULL':
      return boolean(!isNull(a))
    case '||':
      return listOf([a, b].flatMap((each) => (each.kind === 'object' ? elementsOf(each) : [each])))
  }
  return undefined
}

function operation(path: Path, name: string, a: Value, b: Value, c: Value | undefined): Value {
  switch (name) {
    case '::':
      return a.kind === 'boolean' ? chosen(path, a, ONE, ZERO) : a
    case '[]':
      return elementsOf(a)[indexOf(b) - 1] ?? NULL
    case '[:]':
      return listOf(elementsOf(a).slice(indexOf(b) - 1, c && indexOf(c)))
    case '/':
      return quotient(path, asNumber(a), asNumber(b))
    case '%':
      return remainder(path, asNumber(a), asNumber(b))
  }
  if (a.kind === 'object' && b.kind === 'object') return compared(path, name, elementsOf(a), elementsOf(b))
  return binaryOperation(path, OPERATORS[name] ?? name, a, b)
}

function indexOf(value: Value): number {
  const { known } = asNumber(value)
  if (known === undefined) throw new TypeError('the index of an array is known')
  return known
}

const chosen = (path: Path, condition: Value, yes: Value, no: Value): Value =>
  path.choose(
    asBoolean(condition),
    () => yes,
    () => no,
  )

/** `AND` and `OR` of conditions that are true, false or null. One of them decides alone. */
function logicalOperation(path: Path, a: Value, b: Value, decisive: boolean): Value {
  const isDecided = [a, b].some((each) => each.kind === 'boolean' && each.known === decisive)
  if (isDecided || (isNull(a) && isNull(b))) return isDecided ? boolean(decisive) : NULL
  if (isNull(b)) return logicalOperation(path, b, a, decisive)
  const [yes, no] = decisive ? [boolean(true), a] : [a, boolean(false)]
  return chosen(path, b, yes, no)
}

/** Compares arrays and rows: by the first elements that differ. */
function compared(path: Path, name: string, a: readonly Value[], b: readonly Value[]): Value {
  const isEqual = (from: number): Value => {
    const [mine, other] = [a[from], b[from]]
    if (mine === undefined || other === undefined) return boolean(mine === other)
    return logicalOperation(path, isSame(asNumber(mine), asNumber(other)), isEqual(from + 1), false)
  }
  const isLess = (from: number): Value => {
    const [mine, other] = [a[from], b[from]]
    if (mine === undefined || other === undefined) return boolean(false)
    const later = logicalOperation(path, isSame(asNumber(mine), asNumber(other)), isLess(from + 1), false)
    return logicalOperation(path, binaryOperation(path, '<', mine, other), later, true)
  }
  if (name === '<') return isLess(0)
  return name === '=' ? isEqual(0) : not(asBoolean(isEqual(0)))
}

/** Below 0, SQL rounds towards it: kernels do not divide such numbers. */
function quotient(path: Path, top: Num, bottom: Num): Num {
  path.claim(atMost(ZERO, top))
  if (bottom.known === 1) return top
  const floor = builtins['Math.floor'] as { run: (path: Path, args: readonly Value[]) => Value }
  return asNumber(floor.run(path, [{ kind: 'ratio', top, bottom }]))
}

function remainder(path: Path, top: Num, bottom: Num): Num {
  if (bottom.known !== undefined && bottom.known !== 1) {
    path.claim(atMost(ZERO, top))
    return asNumber(binaryOperation(path, '%', top, bottom))
  }
  const whole = binaryOperation(path, '*', quotient(path, top, bottom), bottom)
  return asNumber(binaryOperation(path, '-', top, whole))
}
