// The reasons for missed targets.

import type { Results } from './results.ts'
import { reach, reachOfBaseline, type Table, type Target, targetText } from './table.ts'

/** Whether our row is above its target. */
export const missed = (table: Table, target: Target): boolean => reach(table, target) > target.atMost
/** Whether a hand-written limiter is above it, too. */
export const missedByHand = (table: Table, target: Target): boolean =>
  (reachOfBaseline(table, target) ?? 0) > target.atMost

const TELLING =
  'The hand-written row above ours sends the same header fields and does nothing else: only the difference between the two could be saved.'
const REFUSING =
  'A denial sends more than the route, which answers one word: four or five header fields and a problem document of about 300 bytes. The baseline sends a short text instead.'
const GUARDING =
  'Ours adds 2,000 to 8,000 instructions to those of the hand-written row, and 15,000 in Hono: only they could be saved. They are spent on what the baseline does not do, such as selecting policies, counting a request once, and a decision that handlers can correct. A denial in Fastify has a problem document of about 300 bytes. From one measurement to the next, a row varies by up to 5,000, as engines compile differently: on the day before, ours added 4,100 more than the hand-written row in Express, and 10,100 in Hono.'

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
  [
    'A decision in memory: a long key',
    'spillway consumeSync without node:crypto',
    'Without node:crypto, both hashes are JavaScript, and their ratio depends on the processor: it was 1.75 on another machine.',
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
    'Ours returns a decision of each policy and a merged one, of ten fields each: 530 bytes. Two buckets written by hand that return the same objects take 1.6 times as long as the baseline, and 1.9 times if they deny. The baseline returns one decision of four fields.',
  ],
  ['Instructions of a request through', 'spillway', GUARDING],
  ['A request through', 'spillway, denying', REFUSING],
  ['A request through', 'spillway', TELLING],
  [
    'A million keys',
    'spillway',
    'Without garbage collections, the longest pause in a flood is 3 to 4 ms. What is collected are the keys and decisions that the flood itself makes: the states are outside the heap.',
  ],
  [
    'A decision in Redis: one caller',
    'spillway',
    'One decision alone, not batched, costs the server 6 µs more CPU time than a counter of the baseline, and the caller 3 µs more: see the table of CPU time. That is most of the difference.',
  ],
  [
    'A decision in Redis: 50 callers',
    'spillway',
    'Batches that are written by hand, without a deadline or a decision of ten fields, take as long.',
  ],
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
    'spillway, prepared',
    'It calls a function, whose expressions PostgreSQL prepares again in each transaction. A hand-written bucket is one prepared statement, which takes the server a quarter less CPU time: see the table of CPU time. Ours also limits the wait for a row’s lock and sets the time from which the row may be swept.',
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
  [
    'The size of a bundle',
    'spillway',
    'Nothing in it is unused: esbuild has dropped the features that are not named. What exceeds the target is the digest of long keys, the names of the features by option, and the texts of errors.',
  ],
]

/** The known reason for a missed target; undefined if it is unknown. */
export const reasonFor = ({ title }: Table, { ours }: Target): string | undefined =>
  REASONS.find(([start, row]) => title.startsWith(start) && (ours === row || ours.startsWith(`${row},`)))?.[2]

/** A target in words, whether it is met or missed. */
export const inWords = (table: Table, target: Target): string => targetText(table, target).replace(' — missed', '')

/** Missed targets without a reason. */
export const unexplained = (results: Results): readonly string[] =>
  Object.values(results)
    .flatMap(({ tables }) => tables)
    .flatMap((table) =>
      table.targets
        .filter((target) => missed(table, target) && !reasonFor(table, target))
        .map((target) => inWords(table, target)),
    )
