// The published results: docs/performance.md, its charts, and the numbers in the README.

import { readFileSync, writeFileSync } from 'node:fs'
import { type Bar, barChart } from './bars.ts'
import { lineChart } from './chart.ts'
import type { Results } from './results.ts'
import {
  asMarkdown,
  markdownTable,
  type Row,
  reach,
  reachOfBaseline,
  reported,
  type Table,
  type Target,
  targetText,
} from './table.ts'

const root = new URL('../', import.meta.url)

interface Section {
  readonly part: string
  readonly heading: string
  /** Notes that apply to any results. */
  readonly text: string
}

const SECTIONS: readonly Section[] = [
  {
    part: 'memory',
    heading: 'In memory',
    text: 'One decision of a token bucket, or of the algorithm that a peer has. On one hot key, most of the time is the clock read. With many keys, it is loading the key into the processor’s caches, of which a decision of ten fields occupies more than one of four. Stores that keep keys as strings recognise the same string object at once, and the bench passes the same objects again. A key from a socket is always a new string, whose characters must be compared. `consume` is `consumeSync` plus a promise, which on one hot key costs more than the decision without its clock read.',
  },
  {
    part: 'memory-bytes',
    heading: 'A million keys',
    text: 'A slot takes 48 bytes: 8 for the state, which is the theoretical arrival time (TAT), 36 for the characters of a key, and 4 for the key’s hash and length. Finding the slot takes 8 more, in a hash table that is half full. All of it is outside the heap, so that the garbage collector does not scan it: the row of the keys alone shows what a million strings cost there. The state of a window or a log is an object on the heap, and has that cost. There are no timers: each new key sweeps at most two expired states. Tables grow one by one. In a flood, an eviction looks at 8 slots, or at up to 64 if many keys are limited.',
  },
  {
    part: 'http',
    heading: 'An HTTP request',
    text: 'The decision is the smallest part of what a limiter adds to a request. Most is one more middleware, the client’s address, and header fields that Node checks, keeps and writes: the hand-written rows do only these. The rest is the guard. It selects the policies of a request, reads the cost, passes the decision to handlers, and counts each request once.',
  },
  {
    part: 'profile',
    heading: 'Where the time goes',
    text: 'First a decision in memory, hand-written, with more and less of it. Then profiles of the servers of the previous section. A limiter adds its own code and header fields, which the framework and Node check and serialize. The hand-written rows show what these cost alone.',
  },
  {
    part: 'redis',
    heading: 'In Redis',
    text: 'A single caller waits for a round trip, with any limiter. Many callers are limited by the one core of the server, so that fewer calls help: decisions of one event-loop tick are sent as one batch, a deny cache answers as long as a denial is certain, and leases consume many units at once. A script that decides costs more than one that counts: see the row “not batched”. A key is longer by the name of the store, its version, and the braces that keep a key in one hash slot.',
  },
  {
    part: 'postgres',
    heading: 'In PostgreSQL',
    text: "A decision that is written waits for the disk. By default, concurrent decisions are sent as one statement. `durability: 'async'` does not wait for the disk. A statement for a single decision costs more than a counter's: the function locks the row before it reads the clock, and decides in whole microseconds; a counter adds one.",
  },
  {
    part: 'scale',
    heading: 'More keys, policies and nodes',
    text: 'With more keys, every limiter becomes slower, because states that do not fit the processor’s caches are loaded from memory. Spillway keeps an expired state for a minute. One pass over ten million keys takes longer, so that many states are created anew; the other two delete none. Several policies take the general path, which costs several times as much per policy as the fast path.',
  },
]

/** The rows that explain why the memory store is not an LRU map. */
const CACHES: Readonly<Record<string, string>> = {
  'Map of buckets, hand-written': 'a Map, which evicts nothing',
  'lru-cache of buckets, hand-written': 'lru-cache of buckets',
  'lru-cache of numbers, hand-written': 'lru-cache of numbers',
  'spillway consumeSync': 'Spillway’s in-memory store',
}

const missed = (table: Table, target: Target): boolean => reach(table, target) > target.atMost
const missedByHand = (table: Table, target: Target): boolean => (reachOfBaseline(table, target) ?? 0) > target.atMost

const TELLING =
  'The hand-written row above ours sends the same header fields and does nothing else: only the difference between the two could be saved.'
const REFUSING =
  'A denial sends more than the route, which answers one word: four or five header fields and a problem document of about 300 bytes. The baseline sends a short text instead.'

const KEYS =
  'A hand-written Map keeps and returns what one limiter needs. Ours bounds the length of a key, and returns a decision of ten fields.'
const PREPARED =
  'The baseline returns a decision of four fields, and ours one of ten. Ours also calls a look, a commit and a decision, which engines do not inline for every algorithm.'

/** The reasons for missed targets, by the start of the title and the row. */
const REASONS: readonly (readonly [title: string, ours: string, why: string])[] = [
  [
    'A decision in memory: one hot key, denied',
    'spillway consume',
    'Creating and awaiting a promise costs more than the decision without its clock read: see what a decision is made of.',
  ],
  ['A decision in memory', 'spillway consumeSync', KEYS],
  [
    'A decision in memory',
    'spillway consume',
    'Creating and awaiting a promise costs more than the decision without its clock read: see what a decision is made of.',
  ],
  ...['token bucket', 'leaky bucket', 'fixed window', 'sliding window', 'sliding log of 100'].map(
    (algorithm) => ['A decision in memory, by algorithm', algorithm, PREPARED] as const,
  ),
  [
    'A decision in memory, by algorithm',
    'two policies',
    'Ours returns a decision of each policy and a merged one, of ten fields each: 680 bytes, against 80 for one policy. The baseline returns one decision of four fields.',
  ],
  ['A request through', 'spillway, denying', REFUSING],
  ['A request through', 'spillway', TELLING],
  [
    'A decision in Redis',
    'spillway',
    'Spillway and the baseline both send batches, and use about the same CPU time of the server. Spillway uses more CPU time of the caller for what the baseline does not have: a deadline per call, a circuit breaker, a deny cache, and a decision of ten fields. See the table of CPU time.',
  ],
  [
    'Memory of Redis',
    'spillway',
    'A timestamp under the bare address takes less because its name is shorter. Ours has the store’s prefix, its version, and braces that keep a key in one hash slot. Redis allocates memory in steps of 16 bytes here, so that the shortest prefix saves almost nothing.',
  ],
  [
    'A bucket with a remainder in Redis',
    'a remainder',
    'Its state is three numbers instead of one, and its result has two numbers more. Both are encoded, sent and parsed. The smaller the rest of a decision, as in a batch, the larger their share.',
  ],
  [
    'A bucket with a remainder in PostgreSQL',
    'a remainder',
    'Its row has an array beside the number, and its update computes with both: PostgreSQL prepares more expressions in each transaction.',
  ],
  [
    'A decision in PostgreSQL',
    'spillway, not batched',
    'The peer prepares its statement under a name, which poolers that share sessions do not support. Without that, a hand-written bucket takes about as long as ours. Ours also limits the wait for a row’s lock and sets the time from which the row may be swept. With `prepare: true` the server plans once, too. By default, decisions of one event-loop tick are sent as one batch.',
  ],
  [
    'A decision in PostgreSQL',
    'spillway',
    'Both wait for the same disk. The ratio depends on how many decisions share a statement: it is nearer to `SELECT 1` than to the peer.',
  ],
]

/** The known reason for a missed target; undefined if it is unknown. */
const reasonFor = ({ title }: Table, { ours }: Target): string | undefined =>
  REASONS.find(([start, row]) => title.startsWith(start) && (ours === row || ours.startsWith(`${row},`)))?.[2]

const inWords = (table: Table, target: Target): string => targetText(table, target).replace(' — missed', '')

function baselineText(table: Table, target: Target): string {
  const value = reachOfBaseline(table, target)
  if (value === undefined) return ''
  return ` The baseline “${target.baseline}” comes to ${reported(value)}${missedByHand(table, target) ? ' and misses it, too' : ''}.`
}

function targetsOf(table: Table): string[] {
  if (table.targets.length === 0) return []
  const lines = table.targets.map((target) =>
    missed(table, target)
      ? `- missed: ${inWords(table, target)}.${baselineText(table, target)} ${reasonFor(table, target) ?? ''}`
      : `- met: ${inWords(table, target)}`,
  )
  return ['', ...lines]
}

/** Missed targets without a reason. */
export const unexplained = (results: Results): readonly string[] =>
  Object.values(results)
    .flatMap(({ tables }) => tables)
    .flatMap((table) =>
      table.targets
        .filter((target) => missed(table, target) && !reasonFor(table, target))
        .map((target) => inWords(table, target)),
    )

const chartName = (table: Table): string => `performance-${table.title.replace(/^.* of /, '').replace(/\W+/g, '-')}.svg`

/** The charts by their file's names beside the page. */
export const charts = (results: Results): Readonly<Record<string, string>> =>
  Object.fromEntries([
    ...(results['scale']?.tables ?? []).map((table) => [chartName(table), lineChart(table)] as const),
    ['rivals.svg', barChart('The cost of Spillway ÷ the cost of the peer', quotedBars(results))],
  ])

/** The most rows of a table that is not folded. */
const LONG = 12

/** Text that a reader unfolds. */
const fold = (summary: string, text: string): readonly string[] => [
  '<details>',
  `<summary>${summary}</summary>`,
  '',
  text,
  '',
  '</details>',
]

function section({ part, heading, text }: Section, results: Results): string[] {
  const outcome = results[part]
  if (outcome === undefined) return []
  const tables = outcome.tables.flatMap((table) => [
    '',
    `### ${table.title}`,
    '',
    table.how,
    '',
    ...(part === 'scale' ? [`![${table.title}](./${chartName(table)})`, ''] : []),
    ...(table.rows.length > LONG ? fold(`${table.rows.length} rows`, asMarkdown(table)) : [asMarkdown(table)]),
    ...targetsOf(table),
  ])
  return ['', `## ${heading}`, '', text, '', `Measured on ${outcome.day}: ${outcome.machine}.`, ...tables]
}

function lru(results: Results): string[] {
  const names = Object.keys(CACHES)
  const tables = (results['memory']?.tables ?? []).filter(({ rows }) => rows.some(({ name }) => names.includes(name)))
  const cell = (table: Table, name: string): string => {
    const row: Row | undefined = table.rows.find((each) => each.name === name)
    return reported(row?.figures[0]?.median ?? Number.NaN)
  }
  if (tables.length === 0) return []
  return [
    '',
    '## Why the in-memory store is not an LRU map',
    '',
    'An LRU cache is bounded, well maintained, and the obvious choice. The table has its cost, as a multiple of the same decision on a plain Map.',
    '',
    markdownTable(
      ['', ...tables.map(({ title }) => title.replace('A decision in memory: ', ''))],
      names.map((name) => [CACHES[name] as string, ...tables.map((table) => cell(table, name))]),
    ),
    '',
    'Speed is not the main reason. An LRU cache writes its list at each read, and allocates the memory for its bound up front. And it evicts the wrong key: in a flood of fresh keys, a limited client that pauses is evicted first, and starts again with a full bucket. The in-memory store evicts the key that has used the least of its quota.',
  ]
}

/** The page, whole. */
export function performancePage(results: Results): string {
  const all = Object.values(results).flatMap(({ tables }) => tables)
  const targets = all.flatMap((table) => table.targets.map((target) => ({ table, target })))
  const failed = targets.filter(({ table, target }) => missed(table, target))
  const beyond = failed.filter(({ table, target }) => missedByHand(table, target))
  return [
    '# Performance',
    '',
    '<!-- Written by `npm run bench`, from bench/results.json. -->',
    '',
    'The cost of a decision, compared with other limiters, measured by `npm run bench`. The numbers of a ratio were measured in one run; the parts of this page were measured separately. Compare ratios, because nanoseconds depend on the machine. Figures are medians, with the middle half of the measurements in brackets. Lower is better in every column. The machine is virtual and shares its processors. Alternating turns and medians reduce that noise only in part, so that differences below 25 % mean little.',
    '',
    '![The cost of Spillway, divided by the cost of other limiters](./rivals.svg)',
    '',
    `There are ${targets.length} targets, of which ${targets.length - failed.length} are met.${failed.length > 0 ? ` ${failed.length} are missed, ${beyond.length} of them also by a hand-written baseline, which does only what the target measures. The reasons are below the tables:` : ''}`,
    ...(failed.length > 0 ? [''] : []),
    ...failed.map(({ table, target }) => `- ${table.title}: ${inWords(table, target)}`),
    ...SECTIONS.flatMap((each) => section(each, results)),
    ...lru(results),
    '',
  ].join('\n')
}

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
const quotedBars = (results: Results): readonly Bar[] =>
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

/** Writes all of them. */
export function writePages(results: Results): void {
  const readme = new URL('README.md', root)
  writeFileSync(readme, readmeWith(readFileSync(readme, 'utf8'), results))
  writeFileSync(new URL('docs/performance.md', root), performancePage(results))
  for (const [name, chart] of Object.entries(charts(results))) writeFileSync(new URL(`docs/${name}`, root), chart)
}
