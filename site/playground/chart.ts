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
  /** The levels of the other buckets. */
  readonly others: string
  /** The time in which the store fails: from here, so wide. */
  readonly outage: readonly [x: number, width: number] | undefined
  readonly edges: string
  readonly rows: readonly Row[]
}

/** A client's requests: allowed above the line, denied below. */
export interface Row {
  readonly client: Client
  readonly base: number
  readonly admitted: string
  readonly denied: string
  readonly own: string
}

/** Draws a run, with a line at each window boundary. */
export function chartOf({ answers: all, lines, outage }: Run, span: Micros, window: Micros): Chart {
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
    others: others.map((other) => levelPath(other, x)).join(''),
    outage: outage && [x(outage.from), x(outage.to) - x(outage.from)],
    edges: edges.map((edge) => `M${edge},0V${height}`).join(''),
    rows: clients.map((client, i) => {
      const base = LEVEL_HEIGHT + GAP + (i + 0.5) * ROW_HEIGHT
      const answers = all.filter(({ arrival }) => arrival.client === client)
      const [admitted, denied] = [true, false].map((allowed) =>
        answers.filter(({ decision }) => decision.allowed === allowed),
      ) as [Answer[], Answer[]]
      const tall = ({ arrival }: Answer): number =>
        round(8 + 7 * Math.sqrt(Math.min((arrival.cost - 1) / Math.max(first.quota.limit - 1, 1), 1)))
      // A delayed request slants from its arrival to its turn.
      const up = (each: Answer): string =>
        `M${x(each.arrival.at)},${base - 1}L${x(each.arrival.at + each.decision.delayMs * 1000)},${round(base - 1 - tall(each))}`
      const down = (each: Answer): string => `M${x(each.arrival.at)},${base + 1}v${tall(each)}`
      return {
        client,
        base,
        admitted: admitted.map(up).join(''),
        denied: denied.map(down).join(''),
        own: answers
          .filter(({ arrival }) => arrival.own)
          .map((each) => (each.decision.allowed ? up(each) : down(each)))
          .join(''),
      }
    }),
  }
}

const round = (value: number): number => Math.round(value * 10) / 10

/** The level over time: sloped if units refill continuously, otherwise in steps. */
function levelPath({ quota, points }: Line, x: (at: Micros) => number): string {
  const sloped = quota.kernel === 'bucket' && quota.schedule === null
  const drawn = points.map(({ at, units }) => ({
    x: x(at),
    y: round((1 - Math.max(Math.min(units / Math.max(quota.limit, 1), 1), 0)) * (LEVEL_HEIGHT - 4) + 2),
  }))
  return drawn
    .filter(({ y }, i) => y !== drawn[i - 1]?.y || y !== drawn[i + 1]?.y)
    .map(({ x, y }, i) => (i === 0 ? `M${x},${y}` : sloped ? `L${x},${y}` : `H${x}V${y}`))
    .join('')
}
