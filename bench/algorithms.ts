// The cost of a decision in memory, by algorithm: each as a multiple of the same algorithm written by hand.

import { fork } from 'node:child_process'
import { answerOf } from './answer.ts'
import type { Result } from './measure.ts'
import type { Case, Row, Target } from './table.ts'

const RATIO = 'times hand-written'
const EXPRESS = 'express-rate-limit, its store'

/** What is measured, and the most that each row may take. */
type Ratios = Readonly<Record<string, number | undefined>>

/** Measures a row in its own process. */
function measured(what: string, name: string): Promise<readonly Result[]> {
  const child = fork(new URL('algorithm.ts', import.meta.url), [what, name], { execArgv: process.execArgv })
  return answerOf(child, name)
}

const compared =
  (what: string, title: string, ratios: Ratios, more: readonly Target[] = []): Case =>
  async (progress) => {
    const names = Object.keys(ratios)
    const rows: Row[] = []
    for (const name of names) {
      const [baseline, ours] = (await measured(what, name)) as [Result, Result]
      rows.push({ name, figures: [ours.ratio, ours.nanos, baseline.nanos] })
      progress(rows.length / names.length)
    }
    const targets = names.flatMap((ours): Target[] => {
      const atMost = ratios[ours]
      return atMost === undefined ? [] : [{ ours, column: RATIO, atMost }]
    })
    return {
      title: `A decision in memory, by algorithm: ${title}`,
      how: 'Each row in its own process, in which the algorithm and a hand-written one, on a Map, alternate in turns of 10,000 decisions.',
      columns: [RATIO, 'ns', 'ns hand-written'],
      rows,
      targets: [...targets, ...more],
    }
  }

export const algorithms: Readonly<Record<string, Case>> = {
  algorithms: compared(
    'allowed',
    'one hot key',
    {
      'token bucket': 1.15,
      'token bucket, cost 5': 1.15,
      'leaky bucket': 1.15,
      'fixed window': 1.35,
      [EXPRESS]: undefined,
      'sliding window': 1.25,
      'sliding log of 100': 1.4,
      'two policies': 1.4,
    },
    [{ ours: 'fixed window', theirs: EXPRESS, column: RATIO, atMost: 0.75 }],
  ),
  'algorithms-denied': compared('denied', 'one hot key, denied', {
    'token bucket': 1.5,
    'fixed window': 1.5,
    'sliding window': 1.5,
    'sliding log of 100': 1.5,
    'two policies': 1.5,
  }),
  'algorithms-used': compared('used', 'one hot key, with all algorithms in use', {
    'token bucket': 1.5,
    'fixed window': 1.75,
    'sliding window': 1.65,
    'sliding log of 100': 1.8,
  }),
  'algorithms-used-denied': compared('used-denied', 'one hot key, denied, with all algorithms in use', {
    'token bucket': 1.95,
    'fixed window': 1.95,
    'sliding window': 1.95,
    'sliding log of 100': 1.95,
  }),
  'algorithms-many': compared('many', '10,000 keys', {
    'fixed window': 0.9,
    'sliding window': 0.9,
    'two policies': 0.9,
  }),
}
