// The results that the README quotes, as a table and as bars.

import type { Bar } from './bars.ts'
import type { Results } from './results.ts'
import { markdownTable, reach, reported } from './table.ts'

/** The results that the README quotes: a part, the start of a table's title, and the row of the target. */
const QUOTED: readonly (readonly [
  what: string,
  part: string,
  title: string,
  ours: string,
  theirs: string,
  column: number,
])[] = [
  [
    'one hot key in memory',
    'memory',
    'A decision in memory: one hot key',
    'spillway consumeSync',
    'express-rate-limit, its store',
    0,
  ],
  [
    'one hot key in memory',
    'memory',
    'A decision in memory: one hot key',
    'spillway consumeSync',
    'rate-limiter-flexible',
    0,
  ],
  [
    'the same, denied',
    'memory',
    'A decision in memory: one hot key, denied',
    'spillway consumeSync',
    'rate-limiter-flexible',
    0,
  ],
  [
    'a million keys, Zipf',
    'memory',
    'A decision in memory: 1,000,000 keys, Zipf',
    'spillway consumeSync',
    'rate-limiter-flexible',
    0,
  ],
  [
    'bytes per key, of a million',
    'memory-bytes',
    'A million keys in memory',
    'spillway',
    'express-rate-limit, its store',
    0,
  ],
  ['bytes per key, of a million', 'memory-bytes', 'A million keys in memory', 'spillway', 'rate-limiter-flexible', 0],
  [
    'CPU time added to a request',
    'http',
    'A request through Express',
    'spillway, draft-8',
    'express-rate-limit, draft-8',
    0,
  ],
  ['CPU time added to a request', 'http', 'A request through Koa', 'spillway, legacy', 'koa-ratelimit', 0],
  [
    '500 callers of one key in Redis',
    'redis',
    'A decision in Redis: 500 callers, one hot key',
    'spillway, ioredis',
    'rate-limiter-flexible, ioredis',
    0,
  ],
]

/** What the README quotes. */
export const quotedBars = (results: Results): readonly Bar[] =>
  QUOTED.flatMap(([what, part, title, ours, theirs, at]) => {
    const table = results[part]?.tables.find((each) => each.title === title)
    if (table === undefined) return []
    const share = reach(table, { ours, theirs, column: table.columns[at] as string, atMost: 1 })
    return [{ what, peer: theirs.replace(/,.*/, ''), share, text: reported(share) }]
  })

/** The table of the README. */
export const quoted = (results: Results): string =>
  markdownTable(
    ['what', 'peer', 'Spillway ÷ peer'],
    quotedBars(results).map(({ what, peer, text }) => [what, peer, text]),
    2,
  )

const MARKED = /(<!-- bench -->\n)[\s\S]*?\n?(<!-- \/bench -->)/

/** The README with the table that the results make. */
export const readmeWith = (readme: string, results: Results): string =>
  readme.replace(MARKED, (_, start: string, end: string) => `${start}${quoted(results)}\n${end}`)
