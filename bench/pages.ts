// What people read of the measurements: docs/performance.md, its charts, and the numbers in the README.

import { readFileSync, writeFileSync } from 'node:fs'
import { lineChart } from './chart.ts'
import type { Results } from './results.ts'
import {
  type Aim,
  aimInWords,
  asMarkdown,
  markdownTable,
  type Row,
  reach,
  reachByHand,
  type Table,
  told,
} from './table.ts'

const root = new URL('../', import.meta.url)

interface Section {
  readonly part: string
  readonly heading: string
  /** What is to be known of the numbers: true of any. */
  readonly text: string
}

const SECTIONS: readonly Section[] = [
  {
    part: 'memory',
    heading: 'In memory',
    text: 'One decision of a token bucket, or of whatever a rival has. Most of what a decision on one hot key takes is the look at the clock; among many keys it is the way of the key into the processor’s caches, of which an answer of ten fields takes more than one of four. Stores that keep a million keys as strings know at a glance the very string that they were given before, as the bench gives it to them; a key that comes from a socket is always another, whose characters all have to be read. `consume` is `consumeSync` and a promise, which on one hot key costs more than all else.',
  },
  {
    part: 'memory-bytes',
    heading: 'A million keys',
    text: 'A slot takes 48 bytes: 8 are the state, which is a moment, 36 the characters of a key, and 4 a hash of it and its length; to find the slot takes 8 more in a hash table that is half full. All of it is outside of the heap, so that there is no text for the engine to look at when it collects garbage: the row of the keys alone shows what a million of those cost. What a window or a log has counted is an object on the heap, and does cost that. There are no timers: each new key clears away two states at most that time has emptied. Tables grow one by one, and what evicts keys in a flood looks at 8, or at 64 where limited keys are many.',
  },
  {
    part: 'http',
    heading: 'A request',
    text: 'What a limiter adds to a request is hardly the decision. A middleware more, the client’s address, and header fields that Node checks, keeps and writes: the row “by hand” does these and nothing else. What is left is the guard: the policies that a request is for, what it takes, what handlers are told, and that it is counted once.',
  },
  {
    part: 'profile',
    heading: 'Where the time goes',
    text: 'First a decision in memory, by hand and with more and less of it. Then profiles of the servers of the section before. What a limiter adds is its own code, and header fields: those are checked and put into text by Node, and by the framework before it. The rows by hand show what these cost alone.',
  },
  {
    part: 'redis',
    heading: 'In Redis',
    text: 'A caller alone waits for a round trip, whoever asks; many are limited by the server’s one core, so that what helps is to ask less: decisions of one turn of the event loop travel together, refusals are remembered for as long as they are sure to hold, and leases take many units at once. A script that decides is dearer than one that counts, as the row of a call each shows; and a key is longer by the name of the store, its version and the braces that keep it in one slot.',
  },
  {
    part: 'postgres',
    heading: 'In PostgreSQL',
    text: "A decision that is written waits for the disk. Callers who ask at once go with one statement, which is how it is unless told otherwise; `durability: 'async'` does not wait. A statement each is dearer than a counter's: the function locks the row before it asks the time, and decides in whole microseconds, where a counter adds one.",
  },
  {
    part: 'scale',
    heading: 'As things become more',
    text: 'Keys, policies and nodes. The dip in speed as keys become more is the machine’s: what does not fit its caches comes from memory. Once round ten million keys takes longer than Spillway keeps a state that time has emptied, a minute, so that many of them are made anew; the other two forget none. Several policies go the general way, which costs more than several times the straight one.',
  },
]

/** The rows that say why the memory store is no LRU map. */
const CACHES: Readonly<Record<string, string>> = {
  'Map of buckets, by hand': 'a Map, which forgets nothing',
  'lru-cache of buckets, by hand': 'lru-cache of buckets',
  'lru-cache of numbers, by hand': 'lru-cache of numbers',
  'spillway consumeSync': 'Spillway’s memory store',
}

const missed = (table: Table, aim: Aim): boolean => reach(table, aim) > aim.atMost
const missedByHand = (table: Table, aim: Aim): boolean => (reachByHand(table, aim) ?? 0) > aim.atMost

const TELLING =
  'By hand, with the same header fields and nothing else, is the row above ours: what is left to save is between the two.'
const REFUSING =
  'A refusal tells more than the word that the route answers: four or five header fields, and a problem document of some 300 bytes. By hand it is no cheaper than the route, either.'

/** Why aims are missed: how the title begins, and our row. */
const REASONS: readonly (readonly [title: string, ours: string, why: string])[] = [
  [
    'A decision in memory: one hot key, refused',
    'spillway consume',
    'To make a promise and to await it takes more than all else: see what a decision is made of.',
  ],
  [
    'A decision in memory',
    'spillway consumeSync',
    'By hand, a look at the clock and an answer of ten fields take about as long, or longer: see what a decision is made of.',
  ],
  [
    'A decision in memory',
    'spillway consume',
    'To make a promise and to await it takes more than all else: see what a decision is made of.',
  ],
  ['A request through', 'spillway, refusing', REFUSING],
  ['A request through', 'spillway', TELLING],
  [
    'A decision in Redis',
    'spillway',
    'Decisions of one turn travel together, by hand as by us, and take about the same of the server’s time. What ours take more of the caller’s is what by hand goes without: a deadline for each, a rest for a server that fails, refusals that are remembered, and an answer of ten fields. See the table of whose time it is.',
  ],
  [
    'Memory of Redis',
    'spillway',
    'What is more than a moment under the bare address takes is the name: the store’s, its version, and braces that keep a key in one slot. Redis takes memory in steps of 16 bytes here, so that the shortest name comes to nearly the same.',
  ],
  [
    'A decision in PostgreSQL',
    'spillway, a statement each',
    'The rival prepares its statement under a name, which a pooler that shares sessions does not stand; without one, a bucket by hand takes about as long as ours, which also limits how long it waits for a row’s lock, and sets a date from which the row may be swept away. With `prepare: true` the server plans once, too. The default sends decisions of one turn together.',
  ],
  [
    'A decision in PostgreSQL',
    'spillway',
    'Both wait for the same disk, and the ratio is as good as what decisions of one turn share: nearer to `SELECT 1` than to the rival.',
  ],
]

/** Why an aim is missed, as far as it is known; undefined where nobody has found out. */
const reasonFor = ({ title }: Table, { ours }: Aim): string | undefined =>
  REASONS.find(([start, row]) => title.startsWith(start) && (ours === row || ours.startsWith(`${row},`)))?.[2]

const inWords = (table: Table, aim: Aim): string => aimInWords(table, aim).replace(' — missed', '')

function byHandInWords(table: Table, aim: Aim): string {
  const value = reachByHand(table, aim)
  if (value === undefined) return ''
  return ` Written down in a few lines, “${aim.byHand}”, it comes to ${told(value)}${missedByHand(table, aim) ? ', and misses it, too' : ''}.`
}

function aimsOf(table: Table): string[] {
  if (table.aims.length === 0) return []
  const lines = table.aims.map((aim) =>
    missed(table, aim)
      ? `- missed: ${inWords(table, aim)}.${byHandInWords(table, aim)} ${reasonFor(table, aim) ?? ''}`
      : `- reached: ${inWords(table, aim)}`,
  )
  return ['', ...lines]
}

/** Aims that are missed, and nobody has said why. */
export const unexplained = (results: Results): readonly string[] =>
  Object.values(results)
    .flatMap(({ tables }) => tables)
    .flatMap((table) =>
      table.aims.filter((aim) => missed(table, aim) && !reasonFor(table, aim)).map((aim) => inWords(table, aim)),
    )

const chartName = (table: Table): string => `performance-${table.title.replace(/^.* of /, '').replace(/\W+/g, '-')}.svg`

/** The charts by their file's names beside the page. */
export const charts = (results: Results): Readonly<Record<string, string>> =>
  Object.fromEntries((results['scale']?.tables ?? []).map((table) => [chartName(table), lineChart(table)]))

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
    asMarkdown(table),
    ...aimsOf(table),
  ])
  return ['', `## ${heading}`, '', text, '', `Measured on ${outcome.day}: ${outcome.machine}.`, ...tables]
}

function lru(results: Results): string[] {
  const names = Object.keys(CACHES)
  const tables = (results['memory']?.tables ?? []).filter(({ rows }) => rows.some(({ name }) => names.includes(name)))
  const cell = (table: Table, name: string): string => {
    const row: Row | undefined = table.rows.find((each) => each.name === name)
    return told(row?.figures[0]?.median ?? Number.NaN)
  }
  if (tables.length === 0) return []
  return [
    '',
    '## Why the memory store is no LRU map',
    '',
    'A cache that forgets what was used least recently is bounded, well kept, and the first thing one thinks of. It was measured: times of the same decision on a plain Map.',
    '',
    markdownTable(
      ['', ...tables.map(({ title }) => title.replace('A decision in memory: ', ''))],
      names.map((name) => [CACHES[name] as string, ...tables.map((table) => cell(table, name))]),
    ),
    '',
    'Speed is not what decides. A list in order of use is written at each read, room for its bound is taken up front, and what it forgets first is wrong here: a client that is being refused and keeps quiet for a moment goes before a flood of fresh keys, and starts anew. The memory store evicts the key that has used the least.',
  ]
}

/** The page, whole. */
export function performancePage(results: Results): string {
  const all = Object.values(results).flatMap(({ tables }) => tables)
  const aims = all.flatMap((table) => table.aims.map((aim) => ({ table, aim })))
  const failed = aims.filter(({ table, aim }) => missed(table, aim))
  const beyond = failed.filter(({ table, aim }) => missedByHand(table, aim))
  return [
    '# Performance',
    '',
    '<!-- Written by `npm run bench`, from bench/results.json. -->',
    '',
    'What decisions cost, beside the limiters that people use today, measured by `npm run bench`: what a ratio compares was measured in one run, but the parts on their own. Read the ratios: nanoseconds are another machine’s. Figures are medians, with the middle half of what was measured in brackets; lower is better throughout. The machine is a virtual one whose processors others use as well, which turns and medians even out only in part: differences of less than a quarter mean little.',
    '',
    `There are ${aims.length} aims, of which ${aims.length - failed.length} are reached.${failed.length > 0 ? ` These are missed, ${beyond.length} of them also by a few lines written by hand that do what is asked and no more; where their tables are, it says why:` : ''}`,
    '',
    ...failed.map(({ table, aim }) => `- ${table.title}: ${inWords(table, aim)}`),
    ...SECTIONS.flatMap((each) => section(each, results)),
    ...lru(results),
    '',
  ].join('\n')
}

/** What the README quotes: a part, the start of a table's title, and whom the aim names. */
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
    'the same, refused',
    'memory',
    'A decision in memory: one hot key, refused',
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
    'bytes a key, of a million',
    'memory-bytes',
    'A million keys in memory',
    'spillway',
    'express-rate-limit, its store',
    0,
  ],
  ['bytes a key, of a million', 'memory-bytes', 'A million keys in memory', 'spillway', 'rate-limiter-flexible', 0],
  [
    'processor time added to a request',
    'http',
    'A request through Express',
    'spillway, draft-8',
    'express-rate-limit, draft-8',
    0,
  ],
  ['processor time added to a request', 'http', 'A request through Koa', 'spillway, legacy', 'koa-ratelimit', 0],
  [
    '500 callers of one key in Redis',
    'redis',
    'A decision in Redis: 500 callers, one hot key',
    'spillway, ioredis',
    'rate-limiter-flexible, ioredis',
    0,
  ],
]

/** The table of the README. */
export function quoted(results: Results): string {
  const rows = QUOTED.flatMap(([what, part, title, ours, theirs, at]) => {
    const table = results[part]?.tables.find((each) => each.title === title)
    if (table === undefined) return []
    const share = reach(table, { ours, theirs, column: table.columns[at] as string, atMost: 1 })
    return [[what, theirs.replace(/,.*/, ''), told(share)]]
  })
  return markdownTable(['what', 'beside', 'Spillway takes, of that'], rows, 2)
}

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
