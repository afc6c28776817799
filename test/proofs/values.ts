/** A whole number: a term of SMT-LIB, and its value where that is known. */
export interface Num {
  readonly kind: 'number'
  readonly term: string
  readonly known: number | undefined
}

export interface Bool {
  readonly kind: 'boolean'
  readonly term: string
  readonly known: boolean | undefined
}

/** A division that has not been rounded yet. */
export interface Ratio {
  readonly kind: 'ratio'
  readonly top: Num
  readonly bottom: Num
}

export interface Obj {
  readonly kind: 'object'
  readonly fields: Readonly<Record<string, Value>>
}

export interface Const {
  readonly kind: 'const'
  readonly value: string | null | undefined
}

export interface Fun {
  readonly kind: 'function'
  readonly call: (args: readonly Value[]) => Value
}

/** A value of JavaScript, of which numbers and booleans may be unknown. */
export type Value = Num | Bool | Ratio | Obj | Const | Fun

export const number = (known: number): Num => {
  if (!Number.isSafeInteger(known)) throw new RangeError(`${known} is no safe integer`)
  return { kind: 'number', term: known < 0 ? `(- ${-known})` : String(known), known }
}
export const [ZERO, ONE] = [number(0), number(1)]
export const boolean = (known: boolean): Bool => ({ kind: 'boolean', term: String(known), known })
export const object = (fields: Readonly<Record<string, Value>>): Obj => ({ kind: 'object', fields })
export const constant = (value: Const['value']): Const => ({ kind: 'const', value })
export const UNDEFINED: Const = constant(undefined)
export const NULL: Const = constant(null)

/** An expression of numbers, not named yet. */
export const numeric = (term: string): Num => ({ kind: 'number', term, known: undefined })
export const logical = (term: string): Bool => ({ kind: 'boolean', term, known: undefined })

export function asNumber(value: Value): Num {
  if (value.kind !== 'number') throw new TypeError(`expected a number, got ${JSON.stringify(value)}`)
  return value
}

export function asBoolean(value: Value): Bool {
  if (value.kind !== 'boolean') throw new TypeError(`expected a boolean, got ${JSON.stringify(value)}`)
  return value
}

/** Whether a value counts as true in JavaScript. */
export function truthOf(value: Value): Bool {
  if (value.kind === 'boolean') return value
  if (value.kind === 'const') return boolean(Boolean(value.value))
  if (value.kind === 'object' || value.kind === 'function') return boolean(true)
  throw new TypeError('a kernel tests no number for being 0')
}

export function field(value: Value, name: string): Value {
  if (value.kind !== 'object') throw new TypeError(`no field ${name} in ${JSON.stringify(value)}`)
  return value.fields[name] ?? UNDEFINED
}

export const numberAt = (value: Value, name: string): Num => asNumber(field(value, name))

// Terms of properties. A comparison of known numbers stays a term: the solver folds it.

export const atMost = (a: Num, b: Num): Bool => logical(`(<= ${a.term} ${b.term})`)
export const below = (a: Num, b: Num): Bool => logical(`(< ${a.term} ${b.term})`)
export const equal = (a: Num, b: Num): Bool => logical(`(= ${a.term} ${b.term})`)
export const sum = (a: Num, b: Num): Num => numeric(`(+ ${a.term} ${b.term})`)
export const difference = (a: Num, b: Num): Num => numeric(`(- ${a.term} ${b.term})`)
export const lesser = (a: Num, b: Num): Num => numeric(`(ite (< ${a.term} ${b.term}) ${a.term} ${b.term})`)
export const greater = (a: Num, b: Num): Num => numeric(`(ite (> ${a.term} ${b.term}) ${a.term} ${b.term})`)
export const both = (...terms: readonly Bool[]): Bool =>
  logical(`(and true ${terms.map(({ term }) => term).join(' ')})`)
export const either = (...terms: readonly Bool[]): Bool =>
  logical(`(or false ${terms.map(({ term }) => term).join(' ')})`)
export const not = (a: Bool): Bool =>
  a.known === undefined ? (positiveOf(a) ?? logical(`(not ${a.term})`)) : boolean(!a.known)
/** What a condition denies. */
export function positiveOf({ term }: Bool): Bool | undefined {
  return term.startsWith('(not ') ? logical(term.slice(5, -1)) : undefined
}
/** That two conditions hold together or not at all. */
export const same = (a: Bool, b: Bool): Bool => logical(`(= ${a.term} ${b.term})`)
/** Units where a condition holds, and none elsewhere. */
export const when = (condition: Bool, units: Num): Num => numeric(`(ite ${condition.term} ${units.term} 0)`)
export const implies = (a: Bool, b: Bool): Bool => logical(`(=> ${a.term} ${b.term})`)

/** Whether two values are the same, in all their fields. */
export function sameValue(a: Value, b: Value): Bool {
  if (a.kind === 'number' && b.kind === 'number') return equal(a, b)
  if (a.kind === 'boolean' && b.kind === 'boolean') return same(a, b)
  if (a.kind === 'const' && b.kind === 'const') return boolean(a.value === b.value)
  if (a.kind !== 'object' || b.kind !== 'object') return boolean(false)
  const names = Object.keys(a.fields)
  if (names.length !== Object.keys(b.fields).length) return boolean(false)
  return both(...names.map((name) => sameValue(field(a, name), field(b, name))))
}

/** What a call returns. */
export function called(value: Value, args: readonly Value[]): Value {
  if (value.kind !== 'function') throw new TypeError('a kernel calls functions only')
  return value.call(args)
}

/** A value that is written in a program. */
export function literal(value: unknown): Value {
  if (value === null) return NULL
  if (typeof value === 'number') return number(value)
  return typeof value === 'boolean' ? boolean(value) : constant(String(value))
}

/** The name by which a program reads a field. */
export function nameOf(value: Value): string {
  if (value.kind === 'const' && typeof value.value === 'string') return value.value
  if (value.kind === 'number' && value.known !== undefined) return String(value.known)
  throw new TypeError('a kernel reads fields by name')
}
