import type { Path } from './path.ts'
import {
  asBoolean,
  asNumber,
  type Bool,
  below,
  boolean,
  constant,
  difference,
  equal,
  logical,
  type Num,
  not,
  number,
  numeric,
  ONE,
  sum,
  UNDEFINED,
  type Value,
  ZERO,
} from './values.ts'

type Builtin = Num | { readonly kind: 'call'; readonly run: (path: Path, args: readonly Value[]) => Value }

const call = (run: (path: Path, args: readonly Value[]) => Value): Builtin => ({ kind: 'call', run })

/** Compares now if both numbers are known, else by `<` of SMT-LIB: a condition and its opposite then are decided as one. */
function compare(operator: '<' | '<=' | '>' | '>=', a: Num, b: Num): Bool {
  if (a.known === undefined || b.known === undefined) {
    const less = operator === '<' || operator === '>=' ? below(a, b) : below(b, a)
    return operator === '<' || operator === '>' ? less : not(less)
  }
  return boolean(
    { '<': a.known < b.known, '<=': a.known <= b.known, '>': a.known > b.known, '>=': a.known >= b.known }[operator],
  )
}

export function isSame(a: Value, b: Value): Bool {
  if (a.kind === 'number' && b.kind === 'number') {
    if (a.term === b.term) return boolean(true)
    return a.known === undefined || b.known === undefined ? equal(a, b) : boolean(a.known === b.known)
  }
  if (a.kind === 'boolean' && b.kind === 'boolean') return logical(`(= ${a.term} ${b.term})`)
  if (a.kind === 'const' && b.kind === 'const') return boolean(a.value === b.value)
  return boolean(a === b)
}

const known = {
  '+': (a: number, b: number) => a + b,
  '-': (a: number, b: number) => a - b,
  '*': (a: number, b: number) => a * b,
}

function arithmetic(path: Path, operator: '+' | '-' | '*', a: Num, b: Num): Num {
  if (a.known !== undefined && b.known !== undefined) return number(known[operator](a.known, b.known))
  // Shorter terms are decided faster.
  const neutral = operator === '*' ? 1 : 0
  if (b.known === neutral) return a
  if (a.known === neutral && operator !== '-') return b
  const isLinear = operator !== '*' || a.known !== undefined || b.known !== undefined
  if (!isLinear && path.isChoice(a)) return path.ofEach(a, (each) => arithmetic(path, operator, each, b))
  if (!isLinear && path.isChoice(b)) return path.ofEach(b, (each) => arithmetic(path, operator, a, each))
  if (path.products && !isLinear) return path.name(path.products.product(a, b))
  return path.computed(numeric(`(${operator} ${a.term} ${b.term})`))
}

/** The remainder has the sign of the dividend, unlike the `mod` of SMT-LIB. */
function remainder(path: Path, a: Num, b: Num): Num {
  if (a.known !== undefined && b.known !== undefined) return number(a.known % b.known)
  if (path.products && b.known === undefined) {
    const rest = (of: Num): Num => {
      const quotient = rounded(path, { kind: 'ratio', top: of, bottom: b }, false)
      return arithmetic(path, '-', of, arithmetic(path, '*', quotient, b))
    }
    const negative = (): Num => arithmetic(path, '-', ZERO, rest(arithmetic(path, '-', ZERO, a)))
    return path.choose(compare('<', a, ZERO), negative, () => rest(a)) as Num
  }
  return path.name(numeric(`(ite (>= ${a.term} 0) (mod ${a.term} ${b.term}) (- (mod (- ${a.term}) ${b.term})))`))
}

/** A number, also of a division that is used without rounding: it has to be whole. */
export function wholeOf(path: Path, value: Value): Num {
  if (value.kind !== 'ratio') return asNumber(value)
  const { top, bottom } = value
  if (top.term === bottom.term) return number(1)
  const quotient = rounded(path, value, false)
  path.claim(equal(top, numeric(`(* ${bottom.term} ${quotient.term})`)))
  return quotient
}

export function binaryOperation(path: Path, operator: string, a: Value, b: Value): Value {
  switch (operator) {
    case '===':
      return isSame(a, b)
    case '!==':
      return not(isSame(a, b))
    case 'in':
      return boolean(b.kind === 'object' && a.kind === 'const' && String(a.value) in b.fields)
    case '/':
      return { kind: 'ratio', top: wholeOf(path, a), bottom: wholeOf(path, b) }
    case '%':
      return remainder(path, wholeOf(path, a), wholeOf(path, b))
    case '**':
      return number((asNumber(a).known as number) ** (asNumber(b).known as number))
    case '+':
    case '-':
    case '*':
      return arithmetic(path, operator, wholeOf(path, a), wholeOf(path, b))
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compare(operator, wholeOf(path, a), wholeOf(path, b))
    default:
      throw new TypeError(`a kernel has no ${operator}`)
  }
}

/** Rounds a division by a positive number, as `div` of SMT-LIB rounds down for it. */
function rounded(path: Path, value: Value, up: boolean): Num {
  if (value.kind === 'number') return value
  if (value.kind !== 'ratio') throw new TypeError('only numbers are rounded')
  const { top, bottom } = value
  if (top.known !== undefined && bottom.known !== undefined) {
    return number(up ? Math.ceil(top.known / bottom.known) : Math.floor(top.known / bottom.known))
  }
  if (path.products && bottom.known === undefined) {
    return path.products.quotient(up ? path.name(sum(top, difference(bottom, ONE))) : top, bottom)
  }
  return path.name(numeric(up ? `(- (div (- ${top.term}) ${bottom.term}))` : `(div ${top.term} ${bottom.term})`))
}

/** The largest or the smallest of numbers. */
const extreme = (operator: '<' | '>') =>
  call((path, args) =>
    args.map(asNumber).reduce(
      (a, b) =>
        path.choose(
          compare(operator, b, a),
          () => b,
          () => a,
        ) as Num,
    ),
  )

/** Names that are values. A wait for ever is not counted with. */
export const globals: Readonly<Record<string, Value>> = { undefined: UNDEFINED, Infinity: constant('Infinity') }

/** What kernels use of JavaScript's own objects. */
export const builtins: Readonly<Record<string, Builtin>> = {
  'Math.min': extreme('<'),
  'Math.max': extreme('>'),
  'Math.abs': call((path, [value]) => {
    const number = asNumber(value as Value)
    const negative = binaryOperation(path, '<', number, ZERO)
    return path.choose(
      asBoolean(negative),
      () => binaryOperation(path, '-', ZERO, number),
      () => number,
    )
  }),
  'Math.floor': call((path, [value]) => rounded(path, value as Value, false)),
  'Math.ceil': call((path, [value]) => rounded(path, value as Value, true)),
  'Object.freeze': call((_, [value]) => value as Value),
  'Number.MAX_SAFE_INTEGER': number(Number.MAX_SAFE_INTEGER),
}
