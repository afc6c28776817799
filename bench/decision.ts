// The cost of a decision in memory by its parts: hand-written parts are added one by one.

import { type Candidate, measure } from './measure.ts'
import { AMPLE, candidate, type Rival, sink } from './rivals.ts'
import type { Case } from './table.ts'
import { type Workload, workloads } from './workloads.ts'

const TERMS = { ...AMPLE, maxKeys: 100_000 }

const PARTS: readonly Rival[] = [
  'hand-written, ten fields',
  'hand-written, a promise',
  'spillway consumeSync',
  'spillway consume',
]

const clockAlone: Candidate['run'] = (_, from, to) => {
  let seen = 0
  for (let i = from; i < to; i++) seen += Date.now()
  sink.seen += seen
}

const cased =
  ({ name, keys }: Workload): Case =>
  async (progress) => {
    const baseline = candidate('Map of buckets, hand-written', TERMS)
    const others = [{ name: 'the clock alone', run: clockAlone }, ...PARTS.map((name) => candidate(name, TERMS))]
    const results = await measure(baseline, others, keys, { seconds: 12, progress })
    return {
      title: `What a decision is made of: ${name}`,
      how: 'One process; a hand-written Map of token buckets, and variants with more or less of it, alternate in turns of 10,000 decisions.',
      columns: ['times hand-written', 'ns'],
      rows: results.map(({ name, ratio, nanos }) => ({ name, figures: [ratio, nanos] })),
      targets: [],
    }
  }

/** By what their keys are. */
export const decisions: Readonly<Record<string, Case>> = {
  hot: (progress) => cased(workloads.hot())(progress),
  many: (progress) => cased(workloads.many())(progress),
}
