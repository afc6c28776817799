// The results that docs/comparison.md quotes: other limiters as a table and as bars, and every algorithm.

import type { Bar } from './bars.ts'
import { type Results, tableOf } from './results.ts'
import { type Figure, markdownTable, reach, reported, type Table } from './table.ts'

/** A result that is quoted: two rows of a table, compared in its first column. */
interface Quote {
  readonly what: string
  readonly part: string
  readonly table: string
  readonly ours: string
  readonly theirs: string
}

const memory = (what: string, table: string, theirs: string): Quote => ({
  what,
  part: 'memory',
  table: `A decision in memory: ${table}`,
  ours: 'spillway consumeSync',
  theirs,
})

const bytes = (theirs: string): Quote => ({
  what: 'bytes per key, of a million',
  part: 'memory-bytes',
  table: 'A million keys in memory',
  ours: 'spillway',
  theirs,
})

const request = (framework: string, ours: string, theirs: string): Quote => ({
  what: `CPU time added to a request, ${framework}`,
  part: 'http',
  table: `A request through ${framework}`,
  ours: `spillway, ${ours}`,
  theirs,
})

const instructions = (what: string, ours: string): Quote => ({
  what: `instructions added to a request, ${what}`,
  part: 'instructions',
  table: 'Instructions of a request through Express',
  ours,
  theirs: 'express-rate-limit, draft-8',
})

const redis = (what: string, table: string): Quote => ({
  what: `Redis, ${what}`,
  part: 'redis',
  table: `A decision in Redis: ${table}`,
  ours: 'spillway, ioredis',
  theirs: 'rate-limiter-flexible, ioredis',
})

const postgres = (what: string, table: string, ours = 'spillway'): Quote => ({
  what: `PostgreSQL, ${what}`,
  part: 'postgres',
  table: `A decision in PostgreSQL: ${table}`,
  ours,
  theirs: 'rate-limiter-flexible',
})

const QUOTES: readonly Quote[] = [
  memory('one hot key in memory', 'one hot key', 'express-rate-limit, its store'),
  memory('one hot key in memory', 'one hot key', 'rate-limiter-flexible'),
  memory('the same, denied', 'one hot key, denied', 'express-rate-limit, its store'),
  memory('the same, denied', 'one hot key, denied', 'rate-limiter-flexible'),
  memory('a million keys, Zipf', '1,000,000 keys, Zipf', 'express-rate-limit, its store'),
  memory('a million keys, Zipf', '1,000,000 keys, Zipf', 'rate-limiter-flexible'),
  bytes('express-rate-limit, its store'),
  bytes('rate-limiter-flexible'),
  instructions('Express', 'spillway, draft-8'),
  instructions('its drop-in', 'spillway/compat, draft-8'),
  request('Express', 'draft-8', 'express-rate-limit, draft-8'),
  request('Koa', 'legacy', 'koa-ratelimit'),
  request('Hono', 'draft-6', 'hono-rate-limiter, draft-6'),
  request('Fastify', 'legacy', '@fastify/rate-limit'),
  redis('one caller', 'one caller, 10,000 keys'),
  redis('500 callers of one key', '500 callers, one hot key'),
  postgres('64 callers', '10,000 keys, 64 callers'),
  postgres('64 callers, a statement each', '10,000 keys, 64 callers', 'spillway, not batched'),
]

const figureOf = ({ rows }: Table, name: string): Figure | undefined =>
  rows.find((row) => row.name === name)?.figures[0] ?? undefined

/** Whether the middle halves of two rows overlap: then another run may order them differently. */
function isNoise(table: Table, { ours, theirs }: Quote): boolean {
  const [our, their] = [figureOf(table, ours), figureOf(table, theirs)]
  return our !== undefined && their !== undefined && our.low <= their.high && their.low <= our.high
}

/** What is quoted about other limiters. */
export const quotedBars = (results: Results): readonly Bar[] =>
  QUOTES.flatMap((quote) => {
    const { what, part, ours, theirs } = quote
    const table = tableOf(results, part, quote.table)
    if (table === undefined) return []
    const share = reach(table, { ours, theirs, column: table.columns[0] as string, atMost: 1 })
    const noise = isNoise(table, quote) ? ' (noise)' : ''
    return [{ what, peer: theirs.replace(/,.*/, ''), share, text: `${reported(share)}${noise}` }]
  })

/** The tables of algorithms, by the heading of their column. */
const WORKLOADS: Readonly<Record<string, string>> = {
  allowed: 'one hot key',
  denied: 'one hot key, denied',
  '10,000 keys': '10,000 keys',
}

/** Each algorithm, as multiples of the same algorithm written by hand on a `Map`. */
function algorithms(results: Results): string {
  const tables = Object.values(WORKLOADS).map((load) =>
    tableOf(results, 'memory', `A decision in memory, by algorithm: ${load}`),
  )
  const names = new Set(tables.flatMap((table) => table?.rows.map(({ name }) => name) ?? []))
  const cell = (table: Table | undefined, name: string): string => {
    const figure = table && figureOf(table, name)
    return figure ? reported(figure.median) : '–'
  }
  return markdownTable(
    ['in memory, times hand-written', ...Object.keys(WORKLOADS)],
    [...names].map((name) => [name, ...tables.map((table) => cell(table, name))]),
  )
}

/** The tables of the page. */
export const quoted = (results: Results): string => {
  const peers = quotedBars(results).map(({ what, peer, text }) => [what, peer, text])
  return `${markdownTable(['what', 'peer', 'Spillway ÷ peer'], peers, 2)}\n\n${algorithms(results)}`
}

const MARKED = /(<!-- bench -->\n)[\s\S]*?\n?(<!-- \/bench -->)/

/** The page with the tables that the results make. */
export const comparisonWith = (page: string, results: Results): string =>
  page.replace(MARKED, (_, start: string, end: string) => `${start}${quoted(results)}\n${end}`)
