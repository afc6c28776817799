// The cost of a decision in memory, as a multiple of a hand-written baseline.

import { algorithms } from './algorithms.ts'
import { longKeys } from './long-keys.ts'
import { measureInPairs } from './measure.ts'
import { remainder } from './remainder.ts'
import { AMPLE, candidate, type Rival, rivals } from './rivals.ts'
import type { Case, Table, Target } from './table.ts'
import { type Workload, workloads } from './workloads.ts'

const BY_HAND: Rival = 'Map of buckets, hand-written'
const RATIO = 'times hand-written'

/** A quota that denies all but the first request. */
const SCANT = { limit: 1, burst: 1 }

async function decisions(
  { name, keys, distinct }: Workload,
  denied: boolean,
  targets: readonly Target[],
  progress: (share: number) => void,
): Promise<Table> {
  const terms = { ...(denied ? SCANT : AMPLE), maxKeys: Math.max(distinct, 100_000) }
  const others = (Object.keys(rivals) as Rival[]).filter((each) => each !== BY_HAND)
  const makers = others.map((each) => () => candidate(each, terms))
  const seconds = Math.max(2, keys.length / 300_000)
  const results = await measureInPairs(() => candidate(BY_HAND, terms), makers, keys, { seconds, progress })
  return {
    title: `A decision in memory: ${name}${denied ? ', denied' : ''}`,
    how: 'One process; each candidate and a hand-written Map of token buckets alternate in turns of 10,000 decisions. Each candidate has a Map of its own.',
    columns: [RATIO, 'ns'],
    rows: results.map(({ name, ratio, nanos }) => ({ name, figures: [ratio, nanos] })),
    targets,
  }
}

const target = (theirs: Rival, atMost: number, ours: Rival = 'spillway consumeSync'): Target => ({
  ours,
  theirs,
  column: RATIO,
  atMost,
  baseline: ours === 'spillway consume' ? 'hand-written, a promise' : 'hand-written, ten fields',
})
const promised = target('express-rate-limit, its store', 1, 'spillway consume')

export const cases: Readonly<Record<string, Case>> = {
  hot: (progress) =>
    decisions(
      workloads.hot(),
      false,
      [
        target(BY_HAND, 1.15),
        target('hitlimit, its store', 1.15),
        target('rate-limiter-flexible', 0.2),
        target('express-rate-limit, its store', 0.5),
        promised,
      ],
      progress,
    ),
  denied: (progress) => decisions(workloads.hot(), true, [target('rate-limiter-flexible', 0.05), promised], progress),
  many: (progress) =>
    decisions(
      workloads.many(),
      false,
      [
        target(BY_HAND, 1),
        target('hitlimit, its store', 1),
        target('rate-limiter-flexible', 0.2),
        target('express-rate-limit, its store', 0.5),
        promised,
      ],
      progress,
    ),
  zipf: (progress) =>
    decisions(
      workloads.zipf(),
      false,
      [
        target(BY_HAND, 1),
        target('hitlimit, its store', 1),
        target('rate-limiter-flexible', 0.25),
        target('express-rate-limit, its store', 0.5),
        promised,
      ],
      progress,
    ),
  ...algorithms,
  long: longKeys,
  remainder: remainder.memory,
}
