import { type Bool, logical, type Num, not, numeric, type Obj, object, positiveOf, type Value } from './values.ts'

/** The largest whole numbers that are counted exactly, in JavaScript and in an `int8` of SQL. */
const LARGEST = { double: 2n ** 53n - 1n, int8: 2n ** 63n - 1n }

/** A condition that has to be decided before the path can continue. */
export class Fork extends Error {
  readonly condition: Bool
  constructor(condition: Bool) {
    super(`undecided: ${condition.term}`)
    this.condition = condition
  }
}

/** What multiplies and divides unknowns. */
export interface Products {
  product(a: Num, b: Num): Num
  quotient(top: Num, bottom: Num): Num
  /** That all of them are what they are called. */
  areReal(): Bool
}

/** A call of a limiter that a property makes. */
export interface Call {
  readonly verb: 'consume' | 'peek' | 'refund' | 'charge'
  readonly at: Num
  readonly cost: Num
  /** How much less the cost is, in parts of a microsecond. */
  readonly early?: Num
  /** The call that is refunded, or the start of its window. */
  readonly of?: Call | undefined
  readonly since?: Num
}

/**
 * Z3's solvers of arithmetic, by their numbers. For some programs, one is twice as fast as the other, or the other does
 * not end.
 */
export type Arithmetic = 2 | 6

/** One way through a program: its inputs, what it has computed, and the conditions that it has assumed. */
export class Path {
  /** The inputs, which are unknown, with the most that they may be. */
  readonly inputs = new Map<string, number>()
  /** The calls that the property makes, in their order. */
  readonly calls: Call[] = []
  /** Where a vector shows what is wrong: not all that is claimed is stored. */
  readonly visible: Bool[] = []
  /** Statements of SMT-LIB that declare and define the names of its terms. */
  readonly definitions: string[] = []
  readonly conditions: Bool[] = []
  /** The numbers that the program computes with. */
  numbers: keyof typeof LARGEST = 'double'
  /** That each sum, difference and product is counted exactly, and each quotient whole, where it is computed. */
  readonly ranges: Bool[] = []
  /** The solver of arithmetic, if that of the suite does not decide the property. */
  arithmetic: Arithmetic | undefined
  /** Multiplies and divides unknowns, if the solver does not. */
  products: Products | undefined
  readonly #decisions: boolean[]
  /** The conditions that are decided, by their terms. */
  readonly #decided = new Map<string, boolean>()
  /** The numbers that are one of a few known ones, by their terms. */
  readonly #choices = new Map<string, readonly [condition: Bool, yes: Num, no: Num]>()
  #guards: readonly Bool[] = []
  readonly #named = new Map<string, string>()

  constructor(decisions: readonly boolean[]) {
    this.#decisions = [...decisions]
  }

  /** An unknown whole number from `least` to `most`. */
  input(name: string, least: number, most: number): Num {
    this.inputs.set(name, most)
    this.definitions.push(`(declare-const ${name} Int)`)
    const term = numeric(name)
    this.assume(logical(`(<= ${inTerms(least)} ${name} ${inTerms(most)})`))
    return term
  }

  assume(condition: Bool): void {
    this.conditions.push(condition)
  }

  /** Names a result. A term that is used twice is then written once: programs that compute the same have the same names. */
  name(value: Num): Num {
    return value.known !== undefined ? value : numeric(this.#nameOf(value.term, 'Int'))
  }

  nameBool(value: Bool): Bool {
    return value.known !== undefined ? value : logical(this.#nameOf(value.term, 'Bool'))
  }

  #nameOf(term: string, type: 'Int' | 'Bool'): string {
    if (/^[\w-]+$/.test(term)) return term
    const known = this.#named.get(term)
    if (known !== undefined) return known
    const name = `${type === 'Int' ? 'v' : 'b'}${this.#named.size}`
    this.definitions.push(`(define-fun ${name} () ${type} ${term})`)
    this.#named.set(term, name)
    return name
  }

  /** Names a number that is computed, and notes that it has to be counted exactly. */
  computed(value: Num): Num {
    const named = this.name(value)
    if (named.known === undefined) {
      const largest = LARGEST[this.numbers]
      this.claim(logical(`(<= (- ${largest}) ${named.term} ${largest})`))
    }
    return named
  }

  /** Notes what has to hold where the program is now. */
  claim(range: Bool): void {
    this.ranges.push(logical(`(=> (and true ${this.#guards.map(({ term }) => term).join(' ')}) ${range.term})`))
  }

  /** Runs a branch of which the result may not be used. */
  within<T>(guard: Bool, branch: () => T): T {
    return this.#guardedBy([...this.#guards, guard], branch)
  }

  /** A part of a branch that runs later, or never. */
  later<T>(part: () => T): () => T {
    const guards = this.#guards
    return () => this.#guardedBy(guards, part)
  }

  #guardedBy<T>(guards: readonly Bool[], run: () => T): T {
    const before = this.#guards
    this.#guards = guards
    try {
      return run()
    } finally {
      this.#guards = before
    }
  }

  decide(condition: Bool): boolean {
    const positive = positiveOf(condition)
    if (positive) return !this.decide(positive)
    const named = this.nameBool(condition)
    const known = named.known ?? this.#decided.get(named.term)
    if (known !== undefined) return known
    const decision = this.#decisions.shift()
    if (decision === undefined) throw new Fork(named)
    this.conditions.push(decision ? named : not(named))
    this.#decided.set(named.term, decision)
    return decision
  }

  /** What is computed of a number: of each of its values, if it is one of a few known ones. */
  ofEach(value: Num, compute: (value: Num) => Num): Num {
    const choice = this.#choices.get(value.term)
    if (choice === undefined) return compute(value)
    const [condition, yes, no] = choice
    return this.choose(
      condition,
      () => this.ofEach(yes, compute),
      () => this.ofEach(no, compute),
    ) as Num
  }

  /** Whether a number is known, or one of a few known ones. */
  isChoice({ known, term }: Num): boolean {
    return known !== undefined || this.#choices.has(term)
  }

  /** The value of one of two branches: both in one, if they have the same shape; else the path forks. */
  choose(condition: Bool, yes: () => Value, no: () => Value): Value {
    const positive = positiveOf(condition)
    if (positive) return this.choose(positive, no, yes)
    const named = this.nameBool(condition)
    const known = named.known ?? this.#decided.get(named.term)
    if (known !== undefined) return known ? yes() : no()
    const a = this.within(named, yes)
    const b = this.within(not(named), no)
    return this.#merge(named, a, b) ?? (this.decide(named) ? a : b)
  }

  #merge(condition: Bool, a: Value, b: Value): Value | undefined {
    if (a === b) return a
    if (a.kind === 'number' && b.kind === 'number') return this.#mergeNumbers(condition, a, b)
    if (a.kind === 'boolean' && b.kind === 'boolean') {
      return a.term === b.term ? a : this.nameBool(logical(`(ite ${condition.term} ${a.term} ${b.term})`))
    }
    if (a.kind === 'const' && b.kind === 'const') return a.value === b.value ? a : undefined
    return a.kind === 'object' && b.kind === 'object' ? this.#mergeFields(condition, a, b) : undefined
  }

  #mergeNumbers(condition: Bool, a: Num, b: Num): Num {
    if (a.term === b.term) return a
    const merged = this.name(numeric(`(ite ${condition.term} ${a.term} ${b.term})`))
    if (this.isChoice(a) && this.isChoice(b)) this.#choices.set(merged.term, [condition, a, b])
    return merged
  }

  #mergeFields(condition: Bool, a: Obj, b: Obj): Obj | undefined {
    const names = Object.keys(a.fields)
    if (names.length !== Object.keys(b.fields).length) return undefined
    const fields: Record<string, Value> = {}
    for (const name of names) {
      const other = b.fields[name]
      const merged = other && this.#merge(condition, a.fields[name] as Value, other)
      if (merged === undefined) return undefined
      fields[name] = merged
    }
    return object(fields)
  }
}

const inTerms = (value: number): string => (value < 0 ? `(- ${-value})` : String(value))
