// docs/performance.md: what a reader asks first, in numbers of bench/results.json.

import { answers } from './questions.ts'
import { type Results, tableOf } from './results.ts'
import { figureIn, markdownTable, reported } from './table.ts'

/** A measured row, in a column of a table. */
interface Place {
  readonly part: string
  readonly table: string
  readonly column: string
  readonly row: string
}

/** A number of ours beside that of a peer. */
interface Pair {
  readonly what: string
  readonly part: string
  readonly table: string
  readonly column: string
  readonly unit: string
  readonly ours: string
  readonly theirs: string
  readonly peer: string
}

const ERL = 'express-rate-limit, its store'
const HOT = { part: 'memory', table: 'A decision in memory: one hot key', column: 'ns', unit: 'ns' } as const
const MILLION = { part: 'memory-bytes', table: 'A million keys in memory' } as const
const REDIS = { part: 'redis', column: 'µs each', unit: 'µs', peer: 'rate-limiter-flexible' } as const
const SIZES = { part: 'size', table: 'The size of a bundle', column: 'bytes, gzipped', unit: 'bytes' } as const

/** The four numbers that say the most. */
const FIRST: readonly Pair[] = [
  { ...HOT, what: 'a decision in memory', ours: 'spillway consumeSync', theirs: ERL, peer: 'express-rate-limit' },
  {
    ...MILLION,
    what: 'memory of a client, of a million',
    column: 'bytes per key',
    unit: 'bytes',
    ours: 'spillway',
    theirs: ERL,
    peer: 'express-rate-limit',
  },
  {
    ...MILLION,
    what: 'the longest pause while a million expire',
    column: 'ms while expiring',
    unit: 'ms',
    ours: 'spillway',
    theirs: ERL,
    peer: 'express-rate-limit',
  },
  {
    ...REDIS,
    what: 'a decision in Redis, 500 at once',
    table: 'A decision in Redis: 500 callers, 10,000 keys',
    ours: 'spillway, ioredis',
    theirs: 'rate-limiter-flexible, ioredis',
  },
]

/** Where others may be faster or smaller. Only those that are so are listed. */
const BEHIND: readonly Pair[] = [
  ...['hitlimit', 'hono-rate-limiter'].map((peer) => ({
    ...HOT,
    what: 'one hot key in memory',
    ours: 'spillway consumeSync',
    theirs: `${peer}, its store`,
    peer,
  })),
  {
    ...REDIS,
    what: 'Redis, one caller',
    table: 'A decision in Redis: one caller, 10,000 keys',
    ours: 'spillway, ioredis',
    theirs: 'rate-limiter-flexible, ioredis',
  },
  {
    part: 'postgres',
    what: 'PostgreSQL, 64 callers, a statement each',
    table: 'A decision in PostgreSQL: 10,000 keys, 64 callers',
    column: 'µs each',
    unit: 'µs',
    ours: 'spillway, not batched',
    theirs: 'rate-limiter-flexible',
    peer: 'rate-limiter-flexible',
  },
  ...['', ', lean'].map((lean) => ({
    ...SIZES,
    what: `a bundle for Hono${lean}`,
    ours: `spillway, Hono${lean}`,
    theirs: 'hono-rate-limiter',
    peer: 'hono-rate-limiter',
  })),
  {
    ...SIZES,
    what: 'a bundle for Express',
    ours: 'spillway, Express',
    theirs: 'express-rate-limit',
    peer: 'express-rate-limit',
  },
]

function medianOf(results: Results, { part, table, column, row }: Place): number {
  const found = tableOf(results, part, table)
  if (found === undefined) throw new RangeError(`no results of ${table}`)
  return figureIn(found, row, column).median
}

const valuesOf = (results: Results, pair: Pair): readonly [ours: number, theirs: number] => [
  medianOf(results, { ...pair, row: pair.ours }),
  medianOf(results, { ...pair, row: pair.theirs }),
]

function pairsTable(results: Results, pairs: readonly Pair[]): string {
  const rows = pairs.map((pair) => {
    const [ours, theirs] = valuesOf(results, pair).map((value) => `${reported(value)} ${pair.unit}`)
    return [pair.what, ours as string, theirs as string, pair.peer]
  })
  return markdownTable(['', 'Spillway', 'the other', ''], rows)
}

const CHARTS = ['performance-request.svg', 'performance-redis.svg', 'performance-bytes.svg']

/** What a limiter adds to a request through Express, with and without Spillway. */
function requestText(results: Results): string {
  const place = { part: 'http', table: 'A request through Express' } as const
  const added = medianOf(results, { ...place, column: 'µs of CPU added', row: 'spillway, draft-8' })
  const plain = medianOf(results, { ...place, column: 'µs in total', row: 'no limiter' })
  return (
    `Not beside a handler that asks a database, which takes milliseconds. A limiter in memory adds ${reported(added)} µs of CPU to a ` +
    `request, of which Express alone takes ${reported(plain)} µs. Most of that is the header fields, which Node checks and writes for ` +
    'any limiter. With a remote store, a request waits for one round trip, and for 50 ms at most.'
  )
}

/** The page, whole. */
export function performancePage(results: Results): string {
  const drawn = answers(results)
  const behind = BEHIND.filter((pair) => {
    const [ours, theirs] = valuesOf(results, pair)
    return ours > theirs
  })
  return [
    '# Performance',
    '',
    '<!-- Written by `npm run bench`, from bench/results.json. -->',
    '',
    pairsTable(results, FIRST),
    '',
    '## Will I notice it?',
    '',
    requestText(results),
    ...CHARTS.flatMap((file) => {
      const [, title = file] = /<title>([^:<]+)/.exec(drawn[file] ?? '') ?? []
      return ['', `![${title}](./${file})`]
    }),
    '',
    '## Where others are faster',
    '',
    pairsTable(results, behind),
    '',
    'On one hot key, a store that keeps one number and returns it does less than one that returns a decision of ten fields. A single',
    'caller of Redis waits for a script that decides, which costs more than one that counts; many callers share one call. In',
    'PostgreSQL, a statement for a single decision locks the row before it reads the clock; batched, which is the default, it is the',
    'other way around. A full bundle has every feature: the [lean entries](features.md) have those that you name.',
    '',
    '## Method',
    '',
    '`npm run bench` measures all of it again, on your machine. Both limiters of a row alternate in one run, in turns of thousands of',
    'decisions, so that what else the machine does slows both. Numbers are medians; in charts, a line across the end of a bar is the',
    'middle half of the measurements. The machine is virtual and shares its processors: differences below 25 % mean little.',
    'Compare ratios, as nanoseconds depend on the machine.',
    '',
    'The [comparison](comparison.md) has the ratio to each peer, [all results](../bench/RESULTS.md) every table with its spread, and',
    '[targets](../bench/TARGETS.md) what was aimed at, what is missed, and why.',
    '',
  ].join('\n')
}
