import type { Micros } from '@spillway/core'
import type { Answer, Line, Run } from './app.ts'
import type { Client } from './traffic.ts'

/** The size of the drawing: the width is scaled, the heights are pixels. */
export const WIDTH = 1000
export const LEVEL_HEIGHT = 80
export const ROW_HEIGHT = 34
const GAP = 8

/** A run as the paths of an SVG. */
export interface Chart {
  readonly height: number
  readonly area: string
  readonly line: string
  /** The other lines, and the limit of the first. */
  readonly others: string
  readonly limit: string
  /** The time in which the store fails: from here, so wide. */
  readonly outage: readonly [x: number, width: number] | undefined
  readonly edges: string
  readonly rows: readonly Row[]
}

/** A client's requests: allowed above the line, denied below. Of many, it shows the numbers over time. */
export interface Row {
  readonly client: Client
  readonly base: number
  readonly areMany: boolean
  readonly admitted: string
  readonly denied: string
  readonly own: string
}

/** Draws a run, with a line at each window boundary if it has a window. */
export function chartOf({ answers: all, lines, outage, areMany = false }: Run, span: Micros, window = Infinity): Chart {
  const x = (at: Micros): number => round((at / span) * WIDTH)
  const clients = [...new Set(all.map(({ arrival }) => arrival.client))]
  const [first, ...others] = lines
  const line = levelPath(first, x)
  const edges = Array.from({ length: Math.floor(span / window) }, (_, i) => x((i + 1) * window)).filter(
    (edge) => edge < WIDTH,
  )
  const height = LEVEL_HEIGHT + GAP + clients.length * ROW_HEIGHT
  return {
    height,
    line,
    area: `${line}V${LEVEL_HEIGHT}H0Z`,
    others: pathsOf(
      others.filter(({ isLimit }) => !isLimit),
      x,
    ),
    limit: pathsOf(
      others.filter(({ isLimit }) => isLimit),
      x,
    ),
    outage: outage && [x(outage.from), x(outage.to) - x(outage.from)],
    edges: edges.map((edge) => `M${edge},0V${height}`).join(''),
    rows: clients.map((client, i) => {
      const base = LEVEL_HEIGHT + GAP + (i + 0.5) * ROW_HEIGHT
      const answers = all.filter(({ arrival }) => arrival.client === client)
      const [admitted, denied] = [true, false].map((allowed) =>
        answers.filter(({ decision }) => decision.allowed === allowed),
      ) as [Answer[], Answer[]]
      const tall = ({ arrival }: Answer): number =>
        round(8 + 7 * Math.sqrt(Math.min((arrival.cost - 1) / Math.max(first.top - 1, 1), 1)))
      // A delayed request slants from its arrival to its turn.
      const up = (each: Answer): string =>
        `M${x(each.arrival.at)},${base - 1}L${x(each.arrival.at + each.decision.delayMs * 1000)},${round(base - 1 - tall(each))}`
      const down = (each: Answer): string => `M${x(each.arrival.at)},${base + 1}v${tall(each)}`
      const [above, below] = areMany
        ? numbersOver(span, admitted, denied, base, x)
        : [admitted.map(up).join(''), denied.map(down).join('')]
      return {
        client,
        base,
        areMany,
        admitted: above,
        denied: below,
        own: answers
          .filter(({ arrival }) => arrival.own)
          .map((each) => (each.decision.allowed ? up(each) : down(each)))
          .join(''),
      }
    }),
  }
}

/** The number of intervals in which many requests are counted. */
const INTERVALS = 100

/** Areas of how many requests were allowed over time, above the line, and how many were denied, below it. */
function numbersOver(
  span: Micros,
  admitted: readonly Answer[],
  denied: readonly Answer[],
  base: number,
  x: (at: Micros) => number,
): readonly [above: string, below: string] {
  const [up, down] = [admitted, denied].map((answers) => {
    const counts = new Array<number>(INTERVALS).fill(0)
    for (const { arrival } of answers) {
      const index = Math.min(Math.floor((arrival.at / span) * INTERVALS), INTERVALS - 1)
      counts[index] = (counts[index] as number) + 1
    }
    return counts
  }) as [number[], number[]]
  const most = Math.max(...up, ...down, 1)
  const area = (counts: readonly number[], direction: number): string => {
    const stairs = counts.map((count, i) => {
      const y = round(base + direction * (count / most) * (ROW_HEIGHT / 2 - 1))
      return `V${y}H${x(((i + 1) / INTERVALS) * span)}`
    })
    return `M0,${base}${stairs.join('')}V${base}Z`
  }
  return [area(up, -1), area(down, 1)]
}

const round = (value: number): number => Math.round(value * 10) / 10

const pathsOf = (lines: readonly Line[], x: (at: Micros) => number): string =>
  lines.map((line) => levelPath(line, x)).join('')

/** A number over time: sloped if it changes continuously, otherwise in steps. */
function levelPath({ top, isSloped, points }: Line, x: (at: Micros) => number): string {
  const drawn = points.map(({ at, units }) => ({
    x: x(at),
    y: round((1 - Math.max(Math.min(units / Math.max(top, 1), 1), 0)) * (LEVEL_HEIGHT - 4) + 2),
  }))
  return drawn
    .filter(({ y }, i) => y !== drawn[i - 1]?.y || y !== drawn[i + 1]?.y)
    .map(({ x, y }, i) => (i === 0 ? `M${x},${y}` : isSloped ? `L${x},${y}` : `H${x}V${y}`))
    .join('')
}
