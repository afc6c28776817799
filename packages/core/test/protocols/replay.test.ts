import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { tokenBucket } from '../../src/index.ts'
import { runKernel, stepFor, takenOf } from '../../src/internal.ts'
import { type BucketTaken, exactIn, grossOf } from '../../src/kernels/bucket-taken.ts'
import type { State, Step } from '../../src/kernels/kernel.ts'
import { type Lease, momentOf, partsLeft, returnStep, spend } from '../../src/wrappers/lease.ts'
import { hasSpin, simulate } from './spin.ts'

// Runs of the model, replayed by the code: each must find the numbers that the other has found. `leases.trace` has runs of
// `spin -T -nSEED -DTICKS=12 leases.pml`; with Spin installed, further ones are made.

const BURST = 4
const START = 8
const TICK = 1_000_000
const quota = tokenBucket({ limit: 1, per: '1s', burst: BURST })

interface Process {
  lease: Lease | undefined
  /** Put aside while the store is asked for the next. */
  old: Lease | undefined
  askedMs: number
  taken: BucketTaken | undefined
  left: number
  returning: Step | undefined
}

/** Runs the events of one trace, and returns for each line what the code finds. */
function replay(lines: readonly string[]): readonly string[] {
  let now = START
  let state: State | undefined
  const processes = [0, 1].map(
    (): Process => ({
      lease: undefined,
      old: undefined,
      askedMs: 0,
      taken: undefined,
      left: 0,
      returning: undefined,
    }),
  )
  const take = (step: Step): BucketTaken => {
    const outcome = runKernel(state, now * TICK, step)
    const taken = takenOf(outcome, now * TICK, step, outcome.allowed) as BucketTaken
    state = (outcome.allowed ? outcome.taken : outcome.kept) as State | undefined
    return taken
  }
  const leftOf = (lease: Lease | undefined, at: number): number =>
    lease === undefined ? 0 : partsLeft(lease, at) / TICK
  const moment = (lease: Lease): number => momentOf(lease, now * 1000)
  const momentIfAny = (lease: Lease | undefined): number => (lease === undefined ? 0 : moment(lease))

  return lines.map((line) => {
    const [event = '', ...numbers] = line.split(' ')
    const [id = 0, second = 0] = numbers.map(Number)
    const process = processes[id] as Process
    switch (event) {
      case 'tick':
        now = id
        return line
      case 'check':
        return `check ${take(stepFor(quota, 'consume', 1)).tat / TICK}`
      case 'ask':
        process.old = process.lease
        process.lease = undefined
        process.askedMs = now * 1000
        return line
      case 'take': {
        const taken = take(stepFor(quota, 'consume', second))
        process.left = leftOf(process.old, taken.now)
        process.taken = taken
        return `take ${id} ${second} ${Number(taken.allowed)} ${process.left}`
      }
      case 'lost':
        process.old = undefined
        process.taken = undefined
        return line
      case 'lease': {
        const { taken, left, askedMs } = process as Process & { taken: BucketTaken }
        const total = left + (taken.tat - taken.base) / TICK
        const [tat, gross] = [exactIn(taken, 'tat'), grossOf(taken)]
        // The model chooses how many requests have waited: what is held says how many.
        expect(total - second).toBeGreaterThanOrEqual(1)
        process.lease =
          second === 0
            ? undefined
            : { step: stepFor(quota, 'consume', 1), now: taken.now, askedMs, tat, gross, held: second * TICK }
        process.old = undefined
        return line
      }
      case 'spend': {
        const { lease } = process
        const left = leftOf(lease, momentIfAny(lease))
        const spent = lease && spend(lease, stepFor(quota, 'consume', 1), moment(lease))
        expect(spent !== undefined).toBe(left > 0)
        if (lease?.held === 0) process.lease = undefined
        return `spend ${id} ${left}`
      }
      case 'give': {
        const lease = process.old ?? process.lease
        const parts = lease === undefined ? 0 : partsLeft(lease, moment(lease))
        process.returning = lease && returnStep(lease, parts)
        process.old = undefined
        process.lease = undefined
        return `give ${id} ${parts / TICK}`
      }
      case 'returned': {
        const { tat } = take(process.returning as Step)
        return `returned ${id} ${tat / TICK}`
      }
      case 'end':
        process.lease = undefined
        return line
      default:
        throw new RangeError(`no event ${event}`)
    }
  })
}

const committed = readFileSync(new URL('leases.trace', import.meta.url), 'utf8')
  .split(/trace \d+\n/)
  .slice(1)
  .map((text) => text.trim().split('\n'))

test.each(committed.map((lines, i) => [i + 1, lines] as const))(
  'run %i of the model is one of the code',
  (_, lines) => {
    expect(replay(lines)).toEqual(lines)
  },
)

test('the runs spend, return and lose leases', () => {
  const events = committed.flat().map((line) => line.split(' ')[0])
  for (const event of ['spend', 'returned', 'lost', 'end', 'check']) expect(events).toContain(event)
})

describe.skipIf(!hasSpin())('with Spin', () => {
  test('further runs of the model are runs of the code', { timeout: 300_000 }, () => {
    for (let seed = 1_001; seed <= 1_030; seed++) {
      const lines = simulate('leases', seed, ['TICKS=12'])
      expect(replay(lines), `spin -T -n${seed} -DTICKS=12 leases.pml`).toEqual(lines)
    }
  })
})
