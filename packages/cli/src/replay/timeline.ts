import type { Micros } from '@spillway/core'

/** The widths of a timeline's intervals, each a multiple of the one before: seconds, minutes, hours, days, weeks. */
const WIDTHS: readonly Micros[] = [1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 604_800].map(
  (seconds) => seconds * 1e6,
)
/**
 * Divides the time of a log, however long, into a bounded number of intervals of one width, as narrow as possible.
 * Series are arrays with a number per interval, which are merged when the width grows.
 */
export class Timeline {
  readonly #most: number
  #level = 0
  #start: Micros | undefined
  #used = 0
  readonly #series: {
    values: Float64Array
    readonly fold: (a: number, b: number) => number
    readonly empty: number
  }[] = []

  constructor(most = 600) {
    this.#most = most
  }

  /** Adds a series. `fold` merges the numbers of two intervals; `empty` is the number of one without data. */
  series(fold: (a: number, b: number) => number, empty: number): { readonly values: Float64Array } {
    const series = { values: new Float64Array(this.#most).fill(empty), fold, empty }
    this.#series.push(series)
    return series
  }

  /** The interval of a time. Times must not decrease. */
  at(moment: Micros): number {
    this.#start ??= this.#aligned(moment)
    let part = Math.floor((moment - this.#start) / this.width)
    while (part >= this.#most) {
      this.#grow()
      part = Math.floor((moment - this.#start) / this.width)
    }
    if (part >= this.#used) this.#used = part + 1
    return part
  }

  get start(): Micros {
    return this.#start ?? 0
  }

  get width(): Micros {
    const last = WIDTHS.length - 1
    return this.#level <= last ? (WIDTHS[this.#level] as Micros) : (WIDTHS[last] as Micros) * 2 ** (this.#level - last)
  }

  /** The number of intervals. */
  get length(): number {
    return this.#used
  }

  #aligned(moment: Micros): Micros {
    return Math.floor(moment / this.width) * this.width
  }

  #grow(): void {
    const [start, width] = [this.start, this.width]
    this.#level++
    const newStart = this.#aligned(start)
    const partOf = (i: number): number => Math.floor((start + i * width - newStart) / this.width)
    for (const series of this.#series) {
      const values = new Float64Array(this.#most).fill(series.empty)
      for (let i = 0; i < this.#used; i++) {
        const part = partOf(i)
        values[part] = series.fold(values[part] as number, series.values[i] as number)
      }
      series.values = values
    }
    this.#start = newStart
    this.#used = this.#used === 0 ? 0 : partOf(this.#used - 1) + 1
  }
}

export const sum = (a: number, b: number): number => a + b
/** The smaller of two numbers; NaN counts as missing. */
export const least = (a: number, b: number): number => (Number.isNaN(a) || b < a ? b : a)
/** The larger of two numbers; NaN counts as missing. */
export const most = (a: number, b: number): number => (Number.isNaN(a) || b > a ? b : a)
