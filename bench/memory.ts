// The cost of a decision in memory, as a multiple of a hand-written baseline.

import { algorithms } from './algorithms.ts'
import { longKeys } from './long-keys.ts'
import { measureInPairs } from './measure.ts'
import { remainder } from './remainder.ts'
import { AMPLE, candidate, type Rival, rivals } from './rivals.ts'
import type { Aim, Case, Table } from './table.ts'
import { type Workload, workloads } from './workloads.ts'

const BY_HAND: Rival = 'Map of buckets, hand-written'
const RATIO = 'times hand-written'

/** A quota that denies all but the first request. */
const SCANT = { limit: 1, burst: 1 }

async function decisions(
  { name, keys, distinct }: Workload,
  denied: boolean,
  aims: readonly Aim[],
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
    aims,
  }
}

const aim = (theirs: Rival, atMost: number, ours: Rival = 'spillway consumeSync'): Aim => ({
  ours,
  theirs,
  column: RATIO,
  atMost,
  byHand: ours === 'spillway consume' ? 'hand-written, a promise' : 'hand-written, ten fields',
})
const promised = aim('express-rate-limit, its store', 1, 'spillway consume')

export const cases: Readonly<Record<string, Case>> = {
  hot: (progress) =>
    decisions(
      workloads.hot(),
      false,
      [
        aim(BY_HAND, 1.15),
        aim('hitlimit, its store', 1.15),
        aim('rate-limiter-flexible', 0.2),
        aim('express-rate-limit, its store', 0.5),
        promised,
      ],
      progress,
    ),
  denied: (progress) => decisions(workloads.hot(), true, [aim('rate-limiter-flexible', 0.05), promised], progress),
  many: (progress) =>
    decisions(
      workloads.many(),
      false,
      [
        aim(BY_HAND, 1),
        aim('hitlimit, its store', 1),
        aim('rate-limiter-flexible', 0.2),
        aim('express-rate-limit, its store', 0.5),
        promised,
      ],
      progress,
    ),
  zipf: (progress) =>
    decisions(
      workloads.zipf(),
      false,
      [
        aim(BY_HAND, 1),
        aim('hitlimit, its store', 1),
        aim('rate-limiter-flexible', 0.25),
        aim('express-rate-limit, its store', 0.5),
        promised,
      ],
      progress,
    ),
  ...algorithms,
  long: longKeys,
  remainder: remainder.memory,
}
