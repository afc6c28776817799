import type { Path, Products } from './path.ts'
import { atMost, type Bool, below, both, equal, implies, type Num, numeric, ONE, sum, ZERO } from './values.ts'

/**
 * Products and quotients of unknowns as functions of which only some laws are known. What is proved of them is true of the
 * real ones, and the solver need not multiply.
 */
export class UnknownProducts implements Products {
  readonly #path: Path
  readonly #known: Product[] = []
  readonly #real: Bool[] = []

  constructor(path: Path) {
    this.#path = path
    path.definitions.push('(declare-fun product (Int Int) Int)', '(declare-fun quotient (Int Int) Int)')
  }

  quotient(top: Num, bottom: Num): Num {
    const quotient = this.#path.name(numeric(`(quotient ${top.term} ${bottom.term})`))
    this.#real.push(equal(quotient, numeric(`(div ${top.term} ${bottom.term})`)))
    return quotient
  }

  product(a: Num, b: Num): Num {
    const product = numeric(`(product ${a.term} ${b.term})`)
    if (this.#known.some((other) => other.product.term === product.term)) return product
    this.#path.assume(
      both(
        implies(both(atMost(ZERO, a), atMost(ZERO, b)), atMost(ZERO, product)),
        implies(both(atMost(ONE, a), atMost(ONE, b)), atMost(ONE, product)),
        implies(both(atMost(a, ZERO), atMost(ZERO, b)), atMost(product, ZERO)),
      ),
    )
    for (const other of this.#known) {
      this.#path.assume(both(grows({ a, b, product }, other), grows(other, { a, b, product })))
    }
    this.#known.push({ a, b, product })
    this.#real.push(equal(product, numeric(`(* ${a.term} ${b.term})`)))
    return product
  }

  areReal(): Bool {
    return both(...this.#real)
  }
}

/**
 * Products and quotients of which little is known but that the same numbers have the same: two programs are compared, and
 * the solver need not multiply.
 */
export class SameProducts implements Products {
  readonly #path: Path
  readonly #real: Bool[] = []
  /** What has been divided, by the terms of the quotients. */
  readonly #divided = new Map<string, readonly [top: Num, bottom: Num]>()

  constructor(path: Path) {
    this.#path = path
    path.definitions.push('(declare-fun product (Int Int) Int)', '(declare-fun quotient (Int Int) Int)')
  }

  quotient(top: Num, bottom: Num): Num {
    const quotient = this.#path.name(numeric(`(quotient ${top.term} ${bottom.term})`))
    this.#divided.set(quotient.term, [top, bottom])
    const whole = numeric(`(product ${quotient.term} ${bottom.term})`)
    const isDivided = both(atMost(ZERO, quotient), atMost(whole, top), below(top, sum(whole, bottom)))
    this.#path.assume(implies(both(atMost(ZERO, top), atMost(ONE, bottom)), isDivided))
    this.#real.push(equal(quotient, numeric(`(div ${top.term} ${bottom.term})`)))
    return quotient
  }

  product(a: Num, b: Num): Num {
    const product = this.#path.computed(numeric(`(product ${a.term} ${b.term})`))
    this.#path.assume(implies(both(atMost(ZERO, a), atMost(ZERO, b)), atMost(ZERO, product)))
    const [top, bottom] = this.#divided.get(a.term) ?? []
    // What is divided, and multiplied by less.
    if (top && bottom) {
      this.#path.assume(implies(both(atMost(ZERO, top), atMost(ZERO, b), atMost(b, bottom)), atMost(product, top)))
    }
    this.#real.push(equal(product, numeric(`(* ${a.term} ${b.term})`)))
    return product
  }

  areReal(): Bool {
    return both(...this.#real)
  }
}

/** Quotients that are 0 or 1: a carry of the parts of a microsecond. Each claims that it is one of these. */
export class Carries implements Products {
  readonly #path: Path

  constructor(path: Path) {
    this.#path = path
  }

  quotient(top: Num, bottom: Num): Num {
    this.#path.claim(both(atMost(ZERO, top), below(top, sum(bottom, bottom))))
    return this.#path.choose(
      atMost(bottom, top),
      () => ONE,
      () => ZERO,
    ) as Num
  }

  product(a: Num, b: Num): Num {
    return this.#path.computed(numeric(`(* ${a.term} ${b.term})`))
  }

  areReal(): Bool {
    return both()
  }
}

interface Product {
  readonly a: Num
  readonly b: Num
  readonly product: Num
}

/** Grows with either factor, if the other is the same and not negative; with the first, by more than nothing. */
const grows = (less: Product, more: Product): Bool =>
  both(
    implies(
      both(equal(less.a, more.a), atMost(ZERO, less.a), atMost(less.b, more.b)),
      atMost(less.product, more.product),
    ),
    implies(both(equal(less.b, more.b), atMost(ONE, less.b), below(less.a, more.a)), below(less.product, more.product)),
  )
