/**
 * Exact moments and spans where a unit does not take whole microseconds. Such a number is `tick − early / scale`: `tick` is
 * the first whole microsecond at or after it, and `early`, 0 to `scale − 1`, says how much before that it is. Only whole
 * numbers below 2^53 are added and compared, so that the sums are exact. Code that ignores `early` is late by less than a
 * microsecond, and never early.
 */
export interface Exact {
  readonly tick: number
  readonly early: number
}

export const NOTHING: Exact = { tick: 0, early: 0 }

/** The most ticks in a microsecond: two of them are still counted exactly. */
export const MOST_SCALE: number = 2 ** 52

/** The `early` of the numbers of a bucket's step, in parts of `scale`. */
export interface Fraction {
  /** Parts of a microsecond. */
  readonly scale: number
  readonly increment: number
  readonly check: number
  readonly tolerance: number
  readonly burst: number
  readonly until: number
}

/** A step all of whose numbers are whole. */
export const WHOLE: Fraction = /* @__PURE__ */ Object.freeze({
  scale: 1,
  increment: 0,
  check: 0,
  tolerance: 0,
  burst: 0,
  until: 0,
})

/** Brings a sum or difference back into the range: `early` from 0 to `scale − 1`. */
export function exactly(tick: number, early: number, scale: number): Exact {
  if (early < 0) return { tick: tick + 1, early: early + scale }
  return early < scale ? { tick, early } : { tick: tick - 1, early: early - scale }
}

export const isBefore = (a: Exact, b: Exact): boolean => a.tick < b.tick || (a.tick === b.tick && a.early > b.early)

export const isSame = (a: Exact, b: Exact): boolean => a.tick === b.tick && a.early === b.early

export const earliest = (a: Exact, b: Exact): Exact => (isBefore(b, a) ? b : a)

export const latest = (a: Exact, b: Exact): Exact => (isBefore(a, b) ? b : a)

/** The tick of {@link exactly}, without an object. */
export const wholeTick = (tick: number, early: number, scale: number): number =>
  early < 0 ? tick + 1 : early < scale ? tick : tick - 1

/** The units of `each` parts in a span of `tick − early / scale`, 0 or more, rounded up. */
export function unitsIn(tick: number, early: number, each: number, scale: number): number {
  if (tick * scale <= MOST_SCALE) return Math.ceil((tick * scale - early) / each)
  const parts = BigInt(tick) * BigInt(scale) - BigInt(early)
  return Number((parts + BigInt(each) - 1n) / BigInt(each))
}

/** A span of `count × each` parts of a microsecond, 0 or more. Beyond 2^53 the ticks are rounded: no state gets there. */
export function spanOf(count: number, each: number, scale: number): Exact {
  const parts = count * each
  if (scale === 1) return { tick: parts, early: 0 }
  if (parts <= MOST_SCALE) {
    const tick = Math.ceil(parts / scale)
    return { tick, early: tick * scale - parts }
  }
  return largeSpanOf(BigInt(count) * BigInt(each), BigInt(scale))
}

function largeSpanOf(parts: bigint, scale: bigint): Exact {
  const tick = (parts + scale - 1n) / scale
  return { tick: Number(tick), early: Number(tick * scale - parts) }
}

/** How many parts of a microsecond `to` is after `from`. */
export const partsBetween = (from: Exact, to: Exact, scale: number): number =>
  (to.tick - from.tick) * scale - (to.early - from.early)

/** A moment `parts` of a microsecond later; earlier if `parts` is negative. */
export function laterBy({ tick, early }: Exact, parts: number, scale: number): Exact {
  const span = spanOf(Math.abs(parts), 1, scale)
  return parts < 0
    ? exactly(tick - span.tick, early - span.early, scale)
    : exactly(tick + span.tick, early + span.early, scale)
}

/** The greatest common divisor. */
export const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b))
