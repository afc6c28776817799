// What a decision in memory is made of: the parts by hand, added one by one.

import { mapOfBuckets } from './floors.ts'
import { type Candidate, measure } from './measure.ts'
import { AMPLE, candidate, sink } from './rivals.ts'
import type { Case } from './table.ts'
import { type Workload, workloads } from './workloads.ts'

const TERMS = { ...AMPLE, maxKeys: 100_000 }

const clockAlone: Candidate['run'] = (_, from, to) => {
  let seen = 0
  for (let i = from; i < to; i++) seen += Date.now()
  sink.seen += seen
}

/** By hand, but with as many fields as an answer of ours has. */
function tenFields(): Candidate['run'] {
  const decide = mapOfBuckets(TERMS)
  const none: readonly string[] = []
  const { burst } = TERMS
  const answer = (key: string) => {
    const { allowed, remaining, retryAfterMs, resetAfterMs } = decide(key)
    return {
      allowed,
      policy: 'default',
      limit: burst,
      remaining,
      cost: 1,
      retryAfterMs,
      resetAfterMs,
      replenishAfterMs: resetAfterMs / burst,
      delayMs: 0,
      violated: none,
    }
  }
  return (keys, from, to) => {
    let seen = 0
    for (let i = from; i < to; i++) {
      const { remaining, replenishAfterMs } = answer(keys[i] as string)
      seen += remaining + replenishAfterMs
    }
    sink.seen += seen
  }
}

function withPromise(): Candidate['run'] {
  const decide = mapOfBuckets(TERMS)
  const consume = async (key: string) => decide(key)
  return async (keys, from, to) => {
    let seen = 0
    for (let i = from; i < to; i++) seen += (await consume(keys[i] as string)).remaining
    sink.seen += seen
  }
}

const cased =
  ({ name, keys }: Workload): Case =>
  async (progress) => {
    const parts: Readonly<Record<string, Candidate['run']>> = {
      'the clock alone': clockAlone,
      'by hand, ten fields': tenFields(),
      'by hand, a promise': withPromise(),
    }
    const ours = [candidate('spillway consumeSync', TERMS), candidate('spillway consume', TERMS)]
    const byHand = candidate('Map of buckets, by hand', TERMS)
    const others = Object.entries(parts).map(([name, run]) => ({ name, run }))
    const results = await measure(byHand, [...others, ...ours], keys, { seconds: 12, progress })
    return {
      title: `What a decision is made of: ${name}`,
      how: 'One process; a Map of token buckets by hand, and more or less of it, take turns of 10,000 decisions.',
      columns: ['times by hand', 'ns'],
      rows: results.map(({ name, ratio, nanos }) => ({ name, figures: [ratio, nanos] })),
      aims: [],
    }
  }

/** By what their keys are. */
export const decisions: Readonly<Record<string, Case>> = {
  hot: (progress) => cased(workloads.hot())(progress),
  many: (progress) => cased(workloads.many())(progress),
}
