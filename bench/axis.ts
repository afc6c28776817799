/** An axis: where a value lies, from 0 to 1, and the values that are marked on it. */
export interface Axis {
  readonly at: (value: number) => number
  readonly marks: readonly number[]
  readonly isLog: boolean
}

/** The span of values, as a ratio, from which an axis is logarithmic. */
const DECADE = 10

/**
 * An axis for positive values: logarithmic if they span a decade, else linear from zero.
 *
 * @param most - The largest value that has to fit.
 */
export function axisOf(values: readonly number[], most: number = Math.max(...values)): Axis {
  const least = Math.min(...values)
  return Math.max(...values) / least >= DECADE ? logAxis(least, most) : linearAxis(most)
}

function linearAxis(most: number): Axis {
  const step = roundAbove(most / 5)
  const marks = Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step)
  const top = marks.at(-1) as number
  return { at: (value) => value / top, marks, isLog: false }
}

function logAxis(least: number, most: number): Axis {
  const [from, to] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))]
  const decades = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))
  return { at: (value) => (Math.log10(value) - from) / (to - from), marks: decades, isLog: true }
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((each) => each * power >= value * (1 - 1e-9)) as number) * power
}
