import { atMost, type Bool, below, both, difference, either, equal, type Num, ONE, sum } from './values.ts'

/** A number of microseconds less `early / scale`. */
export interface Exact {
  readonly tick: Num
  readonly early: Num
}

/** Whether `a` is not after `b`. */
export const notAfter = (a: Exact, b: Exact): Bool =>
  either(below(a.tick, b.tick), both(equal(a.tick, b.tick), atMost(b.early, a.early)))

export const sameExact = (a: Exact, b: Exact): Bool => both(equal(a.tick, b.tick), equal(a.early, b.early))

/** The exact sum of two: `early` counts parts of `scale`, so that it carries. */
export const exactSum = (a: Exact, b: Exact, scale: Num): Exact => {
  const early = sum(a.early, b.early)
  const carries = atMost(scale, early)
  const chosen = (yes: Num, no: Num): Num => ({ ...no, term: `(ite ${carries.term} ${yes.term} ${no.term})` })
  const tick = sum(a.tick, b.tick)
  return { tick: chosen(difference(tick, ONE), tick), early: chosen(difference(early, scale), early) }
}
