// The published results: docs/performance.md and its charts, the numbers of docs/comparison.md, bench/RESULTS.md and TARGETS.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { barChart } from './bars.ts'
import { lineChart } from './chart.ts'
import { performancePage } from './performance.ts'
import { answers, questionsText } from './questions.ts'
import { comparisonWith, quotedBars } from './quoted.ts'
import type { Results } from './results.ts'
import { asMarkdown, fold, markdownTable, type Row, reported, type Table } from './table.ts'
import { reasonsOf, targetsText } from './targets.ts'

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
    text: 'A slot takes 48 bytes: 8 for the state, which is the theoretical arrival time (TAT), 36 for the characters of a key, and 4 for the key’s hash and length. Finding the slot takes 8 more, in a hash table that is half full. All of it is outside the heap, so that the garbage collector does not scan it: the row of the keys alone shows what a million strings cost there. A window takes 20 bytes more, outside the heap, too. A log is a list on the heap, and has that cost. There are no timers: each new key sweeps at most two expired states. Tables grow page by page: no new key copies what is stored. In a flood, an eviction looks at 8 slots, or at up to 64 if many keys are limited.',
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
    part: 'instructions',
    heading: 'Instructions of a request',
    text: 'CPU time depends on what else the machine does; the number of instructions does not. The hand-written rows identify the client by its address, count, and write the same header fields. In Node 20 and 22, each property that is added to a request makes a hidden class of its own, which costs more than a limiter: so these are counted in Node 24.',
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
    part: 'size',
    heading: 'In a bundle',
    text: 'Bundlers drop what an app does not import. What is left matters where code is loaded often, as on the edge.',
  },
  {
    part: 'start',
    heading: 'At the start',
    text: 'A program that starts often, such as a test or a function of a cloud, loads its packages each time. Ours are one file for each entry, and one of what its entries share.',
  },
  {
    part: 'logs',
    heading: 'Access logs',
    text: 'The command-line program reads a log, decides each request by the algorithms that run in production, and counts by client, path, method, status and time. It uses one core. Its speed depends on the clients most: the counts of many do not fit into the caches of a processor.',
  },
  {
    part: 'plans',
    heading: 'Plans from a database',
    text: 'A cached lookup of a known key answers in the same tick. It finds the key in an LRU cache, reads the clock, and compares the age of the value. A key that is not known costs a promise, and the eviction of another; the time of the database is not in the table.',
  },
  {
    part: 'shed',
    heading: 'Under overload',
    text: 'What watches the event loop does not see a service that waits, such as for a pool of connections. A bulkhead holds its queue as long as someone has chosen the right limit, and does not see a process that computes. All have their defaults, but for the limit of the bulkhead, which is the size of the pool.',
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

const chartName = (table: Table): string => `performance-${table.title.replace(/^.* of /, '').replace(/\W+/g, '-')}.svg`

/** The charts by their file's names beside the page. */
export const charts = (results: Results): Readonly<Record<string, string>> =>
  Object.fromEntries([
    ...(results['scale']?.tables ?? []).map((table) => [chartName(table), lineChart(table)] as const),
    ...Object.entries(answers(results)),
    ['rivals.svg', barChart('The cost of Spillway ÷ the cost of the peer', quotedBars(results))],
  ])

/** The most rows of a table that is not folded. */
const LONG = 8

function section({ part, heading, text }: Section, results: Results): string[] {
  const outcome = results[part]
  if (outcome === undefined) return []
  const tables = outcome.tables.flatMap((table) => [
    '',
    `### ${table.title}`,
    '',
    table.how,
    '',
    ...(part === 'scale' ? [`![${table.title}](../docs/${chartName(table)})`, ''] : []),
    ...(table.rows.length > LONG ? fold(`${table.rows.length} rows`, asMarkdown(table)) : [asMarkdown(table)]),
    ...reasonsOf(table),
  ])
  return ['', `## ${heading}`, '', text, '', `Measured up to ${outcome.day}: ${outcome.machine}.`, ...tables]
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

const HEADINGS = Object.fromEntries(SECTIONS.map(({ part, heading }) => [part, heading]))

const WRITTEN = '<!-- Written by `npm run bench`, from bench/results.json. -->'

/** Every table, with its spread and the reasons for missed targets. */
export const resultsPage = (results: Results): string =>
  [
    '# Results',
    '',
    WRITTEN,
    '',
    'Every table that `npm run bench` prints. [Performance](../docs/performance.md) has what readers ask first.',
    '',
    'The numbers of a ratio were measured in one run; the parts of this page were measured separately. Compare ratios, because nanoseconds depend on the machine. Figures and bars are medians, with the middle half of the measurements in brackets, or as a line across the end of a bar. Lower is better in every column. The machine is virtual and shares its processors. Alternating turns and medians reduce that noise only in part, so that differences below 25 % mean little.',
    ...questionsText(results),
    ...SECTIONS.flatMap((each) => section(each, results)),
    ...lru(results),
    '',
  ].join('\n')

/** What was aimed at: how many targets are met, and which are missed. */
export const targetsPage = (results: Results): string =>
  ['# Targets', '', WRITTEN, ...targetsText(results, HEADINGS), ''].join('\n')

/** The pages by their paths in the repository. */
export const pages = (results: Results): Readonly<Record<string, string>> => ({
  'docs/performance.md': performancePage(results),
  'bench/RESULTS.md': resultsPage(results),
  'bench/TARGETS.md': targetsPage(results),
})

/** Writes all of them. */
export function writePages(results: Results): void {
  const comparison = new URL('docs/comparison.md', root)
  writeFileSync(comparison, comparisonWith(readFileSync(comparison, 'utf8'), results))
  for (const [path, page] of Object.entries(pages(results))) writeFileSync(new URL(path, root), page)
  for (const [name, chart] of Object.entries(charts(results))) writeFileSync(new URL(`docs/${name}`, root), chart)
}
