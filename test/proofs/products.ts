import type { Path, Products } from './path.ts'
import { atMost, type Bool, below, both, equal, implies, type Num, numeric, ONE, ZERO } from './values.ts'

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
