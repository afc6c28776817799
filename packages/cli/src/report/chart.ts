import { type Html, html, raw } from './markup.ts'
import { niceTicks, short, timeTicks } from './scale.ts'

/** Numbers over time: one for each interval of a timeline; null without data. */
export interface Series {
  readonly name: string
  /** A class of the style sheet, which has its colour. */
  readonly colour: string
  readonly values: readonly (number | null)[]
}

export interface ChartOptions {
  readonly title: string
  readonly startMs: number
  readonly widthMs: number
  readonly series: readonly Series[]
  /**
   * `stacked` areas on one another, `lines` beside each other, `bars`, or a `level` between its least and its most, and
   * where it was too low.
   */
  readonly kind: 'stacked' | 'lines' | 'bars' | 'level'
  readonly height?: number
  /**
   * The top of the scale.
   * @default round numbers above the data
   */
  readonly most?: number
  readonly unit?: string
}

const WIDTH = 1000
const LEFT = 56
const RIGHT = 8
const TOP = 12
const BOTTOM = 22

/** The plot area of a chart. */
interface Frame {
  readonly x: (part: number) => number
  readonly y: (value: number) => number
  readonly parts: number
  readonly bottom: number
}

/** A chart as SVG. Its numbers are in attributes, for the tooltips of the page's script. */
export function chart(options: ChartOptions): Html {
  const { title, startMs, widthMs, series, kind, height = 220, unit = '' } = options
  const parts = Math.max(...series.map(({ values }) => values.length), 1)
  const stack = kind === 'stacked'
  const peaks = Array.from({ length: parts }, (_, i) => {
    const values = series.map(({ values }) => values[i] ?? 0)
    return stack ? values.reduce((a, b) => a + b, 0) : Math.max(...values)
  })
  const ticks = niceTicks(options.most ?? Math.max(...peaks), height < 120 ? 2 : 4)
  const top = options.most ?? (ticks.at(-1) as number)
  const bottom = height - BOTTOM
  const frame: Frame = {
    x: (part) => LEFT + (part / parts) * (WIDTH - LEFT - RIGHT),
    y: (value) => bottom - (Math.min(value, top) / top) * (bottom - TOP),
    parts,
    bottom,
  }
  const data = {
    startMs,
    widthMs,
    unit,
    left: LEFT,
    right: WIDTH - RIGHT,
    series: series.map(({ name, values }) => ({ name, values })),
  }
  return html`<svg class="chart" role="img" aria-label="${title}" viewBox="0 0 ${WIDTH} ${height}" data-chart="${JSON.stringify(data)}">
${ticks.filter((tick) => tick <= top).map((tick) => gridLine(frame, tick, unit))}${timeAxis(frame, startMs, widthMs)}
${DRAWN[kind](frame, series)}
<line class="cursor" y1="${TOP}" y2="${bottom}" visibility="hidden"/></svg>`
}

const gridLine = ({ y }: Frame, tick: number, unit: string): Html =>
  html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(tick))}" y2="${at(y(tick))}"/><text class="tick" x="${LEFT - 6}" y="${at(y(tick) + 3.5)}" text-anchor="end">${short(tick)}${unit}</text>`

function timeAxis({ x, parts, bottom }: Frame, startMs: number, widthMs: number): readonly Html[] {
  return timeTicks(startMs, startMs + parts * widthMs).map(({ at: moment, label }) => {
    const left = x((moment - startMs) / widthMs)
    const anchor = left > WIDTH - 40 ? 'end' : left < LEFT + 20 ? 'start' : 'middle'
    return html`<line class="grid" x1="${at(left)}" x2="${at(left)}" y1="${bottom}" y2="${bottom + 4}"/><text class="tick" x="${at(left)}" y="${bottom + 16}" text-anchor="${anchor}">${label}</text>`
  })
}

const DRAWN: Readonly<Record<ChartOptions['kind'], (frame: Frame, series: readonly Series[]) => readonly Html[]>> = {
  stacked,
  lines: (frame, series) => series.map((each) => line(frame, each)),
  bars: (frame, series) => series.map((each) => bars(frame, each)),
  level: (frame, [least, most, marks]) => [
    ...(marks ? [marked(frame, marks)] : []),
    ...(least && most ? [between(frame, least, most), line(frame, most), line(frame, least)] : []),
  ],
}

/** Areas on one another, each a staircase: a part's number holds for the whole part. */
function stacked(frame: Frame, series: readonly Series[]): readonly Html[] {
  const base = new Array<number>(frame.parts).fill(0)
  return series.map(({ name, colour, values }) => {
    const lower = [...base]
    for (let i = 0; i < frame.parts; i++) base[i] = (base[i] as number) + (values[i] ?? 0)
    const up = stairs(frame, base)
    const down = stairs(frame, lower).reverse()
    return html`<path class="area ${colour}" d="${raw(`M${[...up, ...down].join('L')}Z`)}"><title>${name}</title></path>`
  })
}

function stairs({ x, y, parts }: Frame, values: readonly number[]): string[] {
  return Array.from({ length: parts }, (_, i) => {
    const height = at(y(values[i] as number))
    return [`${at(x(i))},${height}`, `${at(x(i + 1))},${height}`]
  }).flat()
}

function bars({ x, y, parts, bottom }: Frame, { name, colour, values }: Series): Html {
  const width = Math.max(x(1) - x(0) - (parts > 200 ? 0 : 1), 1)
  const drawn = values.flatMap((value, i) => {
    if (value === null || value === 0) return []
    // Even the smallest value is visible.
    const top = Math.min(y(value), bottom - 1.5)
    return [`M${at(x(i))},${bottom}V${at(top)}h${at(width)}V${bottom}Z`]
  })
  return html`<path class="area ${colour}" d="${raw(drawn.join(''))}"><title>${name}</title></path>`
}

/** The area between two staircases. */
function between({ x, y, parts }: Frame, { colour, values }: Series, { values: upper }: Series): Html {
  const drawn = Array.from({ length: parts }, (_, i) => {
    const [low, high] = [values[i] ?? null, upper[i] ?? null]
    return low === null || high === null
      ? ''
      : `M${at(x(i))},${at(y(low))}V${at(y(high))}H${at(x(i + 1))}V${at(y(low))}Z`
  })
  return html`<path class="fill ${colour}" d="${raw(drawn.join(''))}"/>`
}

/** The whole height of each part that has something. */
function marked({ x, y, parts, bottom }: Frame, { name, colour, values }: Series): Html {
  const drawn = Array.from({ length: parts }, (_, i) =>
    values[i] ? `M${at(x(i))},${bottom}V${at(y(Infinity))}H${at(x(i + 1))}V${bottom}Z` : '',
  )
  return html`<path class="mark ${colour}" d="${raw(drawn.join(''))}"><title>${name}</title></path>`
}

/** A staircase with gaps, and a dot for an isolated number. */
function line({ x, y, parts }: Frame, { name, colour, values }: Series): Html {
  const dots: Html[] = []
  let path = ''
  for (let i = 0; i < parts; i++) {
    const value = values[i] ?? null
    if (value === null) continue
    const [before, after] = [values[i - 1] ?? null, values[i + 1] ?? null]
    path += `${before === null ? 'M' : 'L'}${at(x(i))},${at(y(value))}H${at(x(i + 1))}`
    if (before === null && after === null && parts > 60) {
      dots.push(html`<circle class="dot ${colour}" cx="${at(x(i + 0.5))}" cy="${at(y(value))}" r="2.5"/>`)
    }
  }
  return html`<path class="line ${colour}" d="${raw(path)}"><title>${name}</title></path>${dots}`
}

const at = (value: number): string => String(Math.round(value * 10) / 10)
