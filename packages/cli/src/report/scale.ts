/** About `wanted` round numbers from 0 to at least `most`. */
export function niceTicks(most: number, wanted = 4): readonly number[] {
  const rough = Math.max(most, 1) / wanted
  const magnitude = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max([1, 2, 2.5, 5, 10].map((each) => each * magnitude).find((each) => each >= rough) ?? rough, 1)
  const whole = Math.ceil(step)
  return Array.from({ length: Math.ceil(Math.max(most, 1) / whole) + 1 }, (_, i) => i * whole)
}

const S = 1000
const STEPS: readonly number[] = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
  1_209_600, 2_419_200,
].map((seconds) => seconds * S)

/** A time on an axis, and its label. */
export interface TimeTick {
  readonly at: number
  readonly label: string
}

/** About `wanted` round times in UTC between two others; the first of a day has the date as its label. */
export function timeTicks(from: number, to: number, wanted = 9): readonly TimeTick[] {
  const rough = (to - from) / wanted
  const step = STEPS.find((each) => each >= rough) ?? Math.ceil(rough / (28 * 86_400 * S)) * 28 * 86_400 * S
  const ticks: TimeTick[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const text = new Date(at).toISOString()
    const midnight = at % (86_400 * S) === 0
    ticks.push({ at, label: midnight ? dateOf(text) : step < 60 * S ? text.slice(11, 19) : text.slice(11, 16) })
  }
  return ticks
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const dateOf = (iso: string): string => `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1]}`

/** A number short enough for an axis: `12k`. */
export function short(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  return value >= 1e4 ? `${Number((value / 1e3).toPrecision(3))}k` : String(value)
}
