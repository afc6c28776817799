// The cost of a million keys in memory: bytes, timers, and pauses while they expire.

import { fork } from 'node:child_process'
import { answerOf } from './answer.ts'
import { KEYS_ALONE } from './floors.ts'
import type { Held } from './holder.ts'
import { type Case, exactly, type Table, type Target } from './table.ts'

const OURS = 'spillway'
const NAMES = [
  OURS,
  'spillway, sliding window',
  'spillway, sliding log',
  KEYS_ALONE,
  'Map of buckets, hand-written',
  'hitlimit, its store',
  'express-rate-limit, its store',
  'rate-limiter-flexible',
]

const [BYTES, TIMERS] = ['bytes per key', 'timers left']
const STALLS = { filling: 'while filling', expiring: 'while expiring', flooded: 'in a flood' } as const
const inAll = (when: keyof typeof STALLS): string => `ms ${STALLS[when]}`
const own = (when: keyof typeof STALLS): string => `${inAll(when)}, without GC`
const WHEN = Object.keys(STALLS) as (keyof typeof STALLS)[]

function hold(name: string): Promise<Held> {
  const child = fork(new URL('holder.ts', import.meta.url), [name], {
    execArgv: [...process.execArgv, '--expose-gc', '--max-old-space-size=4096'],
  })
  return answerOf(child, name)
}

const targets: readonly Target[] = [
  { ours: OURS, theirs: 'express-rate-limit, its store', column: BYTES, atMost: 0.35 },
  { ours: OURS, theirs: 'rate-limiter-flexible', column: BYTES, atMost: 0.18 },
  { ours: OURS, column: TIMERS, atMost: 0 },
  ...WHEN.flatMap((when) => [inAll(when), own(when)].map((column) => ({ ours: OURS, column, atMost: 10 }))),
]

async function million(progress: (share: number) => void): Promise<Table> {
  const rows: Table['rows'][number][] = []
  for (const name of NAMES) {
    const held = await hold(name)
    const stalls = WHEN.flatMap((when) => [held[when]?.inAllMs ?? null, held[when]?.ownMs ?? null])
    const figures = [held.bytesAKey, held.timers, ...stalls].map((each) => (each === null ? null : exactly(each)))
    rows.push({ name, figures })
    progress(rows.length / NAMES.length)
  }
  return {
    title: 'A million keys in memory',
    how: 'Each candidate in its own process; the keys are included. Milliseconds are the longest pause for a hundred decisions, garbage collections included: while the million keys arrive, while they expire, and while ten million fresh keys arrive in a store with room for one million.',
    columns: [BYTES, TIMERS, ...WHEN.flatMap((when) => [inAll(when), own(when)])],
    rows,
    targets,
  }
}

/** Each candidate already has its own process. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = { million }
