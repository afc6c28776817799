// The animated picture of the README: real decisions of a bucket, drawn with their time on the x axis.

import { type Micros, rateLimiter, tokenBucket } from '@spillway/core'
import { memoryStore } from '@spillway/memory'

const SPAN: Micros = 10e6
const STEP: Micros = 50e3
/** When requests arrive, in milliseconds: a few, a burst that empties the bucket, and a few after a pause. */
const ARRIVALS = [400, 1400, 2000, 2150, 2300, 2450, 2600, 2750, 2900, 3050, 3400, 4300, 4500, 7600, 7900, 8200, 9200]
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 210, 40, 12, 64, 28]

/** The picture as SVG. */
export function bucketPicture(): string {
  let now: Micros = 0
  const quota = tokenBucket({ limit: 5, per: '5s' })
  const limiter = rateLimiter({ quota, store: memoryStore({ clock: () => now }) })
  const x = (at: Micros): number => Math.round(LEFT + (at / SPAN) * (WIDTH - LEFT - RIGHT))
  const y = (units: number): number =>
    Math.round((HEIGHT - BOTTOM - (units / quota.limit) * (HEIGHT - TOP - BOTTOM)) * 10) / 10
  const times = new Set([
    ...Array.from({ length: SPAN / STEP + 1 }, (_, i) => i * STEP),
    ...ARRIVALS.map((ms) => ms * 1000),
  ])
  const levels: string[] = []
  const marks: string[] = []
  let denied = 0
  const level = (resetAfterMs: number): number => quota.limit - (resetAfterMs * 1000) / quota.ticksPerUnit
  let resetAt: Micros = 0
  for (const at of [...times].sort((a, b) => a - b)) {
    now = at
    levels.push(`${x(at)},${y(level(Math.max(resetAt - at, 0) / 1000))}`)
    if (!ARRIVALS.includes(at / 1000)) continue
    const { allowed, resetAfterMs } = limiter.consumeSync('client')
    resetAt = at + resetAfterMs * 1000
    if (!allowed) denied++
    marks.push(
      allowed
        ? `<circle cx="${x(at)}" cy="40" r="5" fill="#2a9d8f"/>`
        : `<path d="M${x(at) - 5} 35l10 10m0 -10l-10 10" stroke="#c8442c" stroke-width="3"/>`,
    )
    levels.push(`${x(at)},${y(level(resetAfterMs))}`)
  }
  const bottom = HEIGHT - BOTTOM
  const ink = 'fill="#6b7079"'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="12">`,
    `<title>A token bucket of 5 units, 1 a second: ${ARRIVALS.length - denied} requests are allowed, ${denied} are denied</title>`,
    '<style>.now{animation:now 10s linear infinite}@keyframes now{from{transform:translateX(0)}' +
      `to{transform:translateX(${WIDTH - LEFT - RIGHT}px)}}@media (prefers-reduced-motion:reduce){.now{animation:none}}</style>`,
    `<text x="${LEFT}" y="16" ${ink}>tokenBucket({ limit: 5, per: '5s' })</text>`,
    `<text x="${WIDTH - RIGHT}" y="16" text-anchor="end" ${ink}><tspan fill="#2a9d8f">●</tspan> 200 <tspan fill="#c8442c">✕</tspan> 429, denied: consumes nothing</text>`,
    `<path d="M${x(0)} ${bottom}L${levels.join('L')}V${bottom}Z" fill="#2f6fde" fill-opacity=".3"/>`,
    ...[0, 5].map((units) => `<text x="${LEFT - 8}" y="${y(units) + 4}" text-anchor="end" ${ink}>${units}</text>`),
    ...[0, 2, 4, 6, 8, 10].map(
      (s) => `<text x="${x(s * 1e6)}" y="${HEIGHT - 8}" text-anchor="middle" ${ink}>${s} s</text>`,
    ),
    ...marks,
    `<path class="now" d="M${LEFT} 26V${bottom}" stroke="#6b7079" stroke-width="2"/>`,
    '</svg>',
    '',
  ].join('\n')
}
