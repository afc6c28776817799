// The questions that a reader has first, each answered by one chart of the limiters that can be chosen.

import { type Ranked, rankingChart } from './ranking.ts'
import { type Results, tableOf } from './results.ts'
import { figureIn } from './table.ts'

/** A question, the table that answers it, and the limiters of its chart. */
interface Question {
  readonly heading: string
  /** What the axis shows, with its unit. */
  readonly axis: string
  /** The name of the chart's file. */
  readonly file: string
  readonly part: string
  /** The tables, each with the rows that the chart shows, by the names that it gives them. */
  readonly tables: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly column: string
}

const LIBRARIES: Readonly<Record<string, string>> = {
  'Spillway, consumeSync': 'spillway consumeSync',
  'Spillway, consume': 'spillway consume',
  hitlimit: 'hitlimit, its store',
  'hono-rate-limiter': 'hono-rate-limiter, its store',
  '@fastify/rate-limit': '@fastify/rate-limit, its store',
  limiter: 'limiter, TokenBuckets in a Map',
  'express-rate-limit': 'express-rate-limit, its store',
  'koa-ratelimit': 'koa-ratelimit, its limiter',
  'rate-limiter-flexible': 'rate-limiter-flexible',
}

const KEYS: Readonly<Record<string, string>> = {
  Spillway: 'spillway',
  hitlimit: 'hitlimit, its store',
  'express-rate-limit': 'express-rate-limit, its store',
  'rate-limiter-flexible': 'rate-limiter-flexible',
}

const QUESTIONS: readonly Question[] = [
  {
    heading: 'How long does a decision take?',
    axis: 'nanoseconds a decision, in memory, one hot key',
    file: 'performance-decision.svg',
    part: 'memory',
    tables: { 'A decision in memory: one hot key': LIBRARIES },
    column: 'ns',
  },
  {
    heading: 'How long with a million clients?',
    axis: 'nanoseconds a decision, in memory, 1,000,000 keys, Zipf',
    file: 'performance-million.svg',
    part: 'memory',
    tables: { 'A decision in memory: 1,000,000 keys, Zipf': LIBRARIES },
    column: 'ns',
  },
  {
    heading: 'How much memory does a client take?',
    axis: 'bytes a key, of a million keys',
    file: 'performance-bytes.svg',
    part: 'memory-bytes',
    tables: { 'A million keys in memory': KEYS },
    column: 'bytes per key',
  },
  {
    heading: 'How long does the process pause?',
    axis: 'milliseconds, the longest pause while a million keys expire',
    file: 'performance-pause.svg',
    part: 'memory-bytes',
    tables: { 'A million keys in memory': KEYS },
    column: 'ms while expiring',
  },
  {
    heading: 'What does a limiter add to a request?',
    axis: 'microseconds of CPU time added to a request',
    file: 'performance-request.svg',
    part: 'http',
    tables: {
      'A request through Express': {
        'Express: Spillway': 'spillway, draft-8',
        'Express: express-rate-limit': 'express-rate-limit, draft-8',
      },
      'A request through Koa': {
        'Koa: Spillway': 'spillway, legacy',
        'Koa: koa-ratelimit': 'koa-ratelimit',
        'Koa: koa2-ratelimit': 'koa2-ratelimit',
      },
      'A request through Hono': {
        'Hono: Spillway': 'spillway, draft-6',
        'Hono: hono-rate-limiter': 'hono-rate-limiter, draft-6',
      },
      'A request through Fastify': {
        'Fastify: Spillway': 'spillway, legacy',
        'Fastify: @fastify/rate-limit': '@fastify/rate-limit',
      },
    },
    column: 'µs of CPU added',
  },
  {
    heading: 'How long does a decision in Redis take?',
    axis: 'microseconds a decision, 500 callers, 10,000 keys',
    file: 'performance-redis.svg',
    part: 'redis',
    tables: {
      'A decision in Redis: 500 callers, 10,000 keys': {
        'Spillway, ioredis': 'spillway, ioredis',
        'Spillway, node-redis': 'spillway, node-redis',
        'Spillway, ioredis, not batched': 'spillway, ioredis, not batched',
        'rate-limit-redis, ioredis': 'rate-limit-redis, ioredis',
        'rate-limiter-flexible, ioredis': 'rate-limiter-flexible, ioredis',
        'rate-limiter-flexible, node-redis': 'rate-limiter-flexible, node-redis',
      },
    },
    column: 'µs each',
  },
  {
    heading: 'How long does a decision in PostgreSQL take?',
    axis: 'microseconds a decision, 64 callers, 10,000 keys',
    file: 'performance-postgres.svg',
    part: 'postgres',
    tables: {
      'A decision in PostgreSQL: 10,000 keys, 64 callers': {
        Spillway: 'spillway',
        'Spillway, not batched': 'spillway, not batched',
        'rate-limiter-flexible': 'rate-limiter-flexible',
      },
    },
    column: 'µs each',
  },
]

/** The bars of a question; none if its part was not measured. */
function barsOf({ part, tables, column }: Question, results: Results): readonly Ranked[] {
  return Object.entries(tables).flatMap(([title, names]) => {
    const table = tableOf(results, part, title)
    if (table === undefined) return []
    return Object.entries(names).map(([name, row]) => ({
      name,
      ours: name.includes('Spillway'),
      figure: figureIn(table, row, column),
    }))
  })
}

const measured = (results: Results): readonly Question[] =>
  QUESTIONS.filter((question) => barsOf(question, results).length > 0)

/** The charts by their file's names in docs/. */
export const answers = (results: Results): Readonly<Record<string, string>> =>
  Object.fromEntries(
    measured(results).map((question) => [
      question.file,
      rankingChart(question.heading, question.axis, barsOf(question, results)),
    ]),
  )

/** The questions with their charts, as Markdown. */
export const questionsText = (results: Results): readonly string[] =>
  measured(results).flatMap(({ heading, axis, file }) => [
    '',
    `## ${heading}`,
    '',
    `![${heading} In ${axis}](../docs/${file})`,
  ])
