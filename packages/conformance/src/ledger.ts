import assert from 'node:assert/strict'
import type {
  BucketQuota,
  BucketTaken,
  Micros,
  PenaltyTaken,
  Quota,
  SlidingLogTaken,
  SlidingWindowTaken,
  SlotsTaken,
  Store,
  Taken,
  WarmUpTaken,
} from '@spillway/core'
import { decide, type StepOptions, stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from './clock.ts'
import { made } from './made.ts'
import { type Algorithm, quotasOf } from './random-quotas.ts'
import type { TestFunction } from './runner.ts'

/** An action on one key, some time after the previous action, or before it if the clock steps back. */
export interface Act {
  readonly after: Micros
  readonly does: 'take' | 'settle' | 'refund' | 'charge'
  readonly cost: number
  readonly maxWait: Micros
  /** The index of the take to settle, among those that are not settled yet. */
  readonly which: number
}

/** An allowed take: its turn, and its units minus those that its own refund returned. */
interface Entry {
  readonly turn: number
  readonly taken: Taken
  readonly cost: number
  units: number
  settled: boolean
}

const spans = /* @__PURE__ */ made(() =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 2_000_000 }) },
    fc.constantFrom(250_000, 1_000_000, 7_000_000),
    fc.integer({ min: -3_000_000, max: -1 }),
    fc.integer({ min: -100_000_000, max: -1 }),
  ),
)

/** Takes, reservations and settles in any order; with `others`, also refunds without a handle and charges. */
export const actsOf = (others: boolean): fc.Arbitrary<readonly Act[]> =>
  fc.array(
    fc.record({
      after: spans,
      does: fc.constantFrom(
        'take',
        'take',
        'take',
        'settle',
        'settle',
        ...(others ? ['refund', 'charge'] : []),
      ) as fc.Arbitrary<Act['does']>,
      cost: fc.integer({ min: 1, max: 8 }),
      maxWait: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 20_000_000 })),
      which: fc.nat(9),
    }),
    { minLength: 4, maxLength: 25 },
  )

/**
 * Runs a history of one key, and checks the bound: at most `burst + rate × t` units in any span `t`. A take counts at its
 * turn, minus the units that its own refund returned. Spans are measured in elapsed time, without clock steps. A refund
 * without a handle cannot be verified: it adds to the burst.
 */
export async function balance(store: Store, quota: Quota, acts: readonly Act[]): Promise<void> {
  const entries: Entry[] = []
  let [at, elapsed, granted] = [START, 0, 0]
  const ask = async (verb: Verb, cost: number, terms?: StepOptions) => {
    const step = stepFor(quota, verb, cost, terms)
    const [taken] = (await store.take([{ policy: 'p', key: 'a', step }], at)) as [Taken]
    return { taken, decision: decide('p', quota, cost, step, taken) }
  }
  /** Refunds, and returns how many units the state gained. */
  const refund = async (cost: number, terms?: StepOptions): Promise<number> => {
    const { taken: before } = await ask('peek', 1)
    return unitsOf(quota, before) - unitsOf(quota, (await ask('refund', cost, terms)).taken)
  }
  const take = async (cost: number, maxWait: Micros): Promise<void> => {
    const { taken, decision } = await ask('consume', cost, maxWait === 0 ? {} : { maxWaitMicros: maxWait })
    const turn = elapsed + ticksOf(quota, at + Math.round(decision.delayMs * 1000)) - ticksOf(quota, at)
    if (decision.allowed) entries.push({ turn, taken, cost, units: cost, settled: false })
  }
  const settle = async (cost: number, which: number): Promise<void> => {
    const open = entries.filter(({ settled }) => !settled)
    const entry = open[which % open.length]
    if (entry === undefined) return
    entry.settled = true
    entry.units -= await refund(Math.min(cost, entry.cost), { original: entry.taken })
  }
  for (const { after, does, cost, maxWait, which } of acts) {
    const before = ticksOf(quota, at)
    at += after
    elapsed += Math.max(ticksOf(quota, at) - before, 0)
    if (does === 'take') await take(cost, maxWait)
    else if (does === 'settle') await settle(cost, which)
    else if (does === 'refund') granted += await refund(cost)
    else await ask('charge', cost)
  }
  const largest = Math.max(...acts.map(({ cost }) => cost))
  checkTurns(entries, (ticks) => mostWithin(quota, ticks, largest) + granted)
}

/** Checks that no span between two turns has more units than allowed. */
function checkTurns(entries: readonly Entry[], most: (ticks: number) => number): void {
  const sorted = entries.toSorted((a, b) => a.turn - b.turn)
  for (const [i, first] of sorted.entries()) {
    let units = 0
    for (const { turn, units: each } of sorted.slice(i)) {
      units += each
      const allowed = most(turn - first.turn)
      assert.ok(units <= allowed + 1e-6, `${units} units in ${turn - first.turn} ticks, ${allowed} at most`)
    }
  }
}

/** Units that count against the limit, in the kernel's own measure. */
function unitsOf(quota: Quota, taken: Taken): number {
  switch (quota.kernel) {
    case 'bucket': {
      const { tat, early } = taken as BucketTaken
      return ((tat - ticksOf(quota, START)) * quota.scale - (early?.tat ?? 0)) / quota.ticksPerUnit
    }
    case 'sliding-window':
      return (taken as SlidingWindowTaken).current + (taken as SlidingWindowTaken).previous
    case 'sliding-log':
    case 'slots':
      return (taken as SlidingLogTaken | SlotsTaken).used
    case 'warm-up': {
      const { now, ahead, early } = taken as WarmUpTaken
      return ((now + ahead - START) * quota.scale - early) / quota.ticksPerUnit
    }
    case 'penalty':
      return (taken as PenaltyTaken).count
  }
}

/** The quota's measure of time: refilled units if it refills at intervals, else microseconds. */
function ticksOf(quota: Quota, at: Micros): number {
  const schedule = quota.kernel === 'bucket' ? quota.schedule : null
  return schedule === null ? at : Math.floor((at + schedule.offset) / schedule.interval) * schedule.amount
}

/** The maximum units of a span. A turn between two whole microseconds is reported as the later one. */
function mostWithin(quota: Quota, ticks: number, largest: number): number {
  const windows = Math.floor(ticks / quota.window) + 1
  switch (quota.kernel) {
    case 'bucket':
      return mostOf(quota, largest) + ((ticks + (quota.scale > 1 ? 1 : 0)) * quota.scale) / quota.ticksPerUnit
    case 'sliding-window':
      return quota.limit * (windows + 1)
    case 'sliding-log':
    case 'slots':
      return quota.limit * windows
    case 'warm-up':
      return largest + ((ticks + 1) * quota.scale) / quota.ticksPerUnit
    case 'penalty':
      return quota.limit * (Math.floor(ticks / Math.min(quota.window, quota.block)) + 2)
  }
}

/**
 * The maximum at one point in time: the burst and the overdraft, or one larger request that has waited for all its units.
 * If units refill at intervals, turns are delayed to the next interval.
 */
const mostOf = ({ immediateUnits, overdraft, schedule }: BucketQuota, largest: number): number =>
  Math.max(immediateUnits, largest) + overdraft + (schedule?.amount ?? 1) - 1

/** Tests the bound for any takes, reservations, refunds, corrections and clock steps, for every algorithm. */
export function testLedger(test: TestFunction, makeStore: () => Store | Promise<Store>, numRuns: number): void {
  for (const [algorithm, quotas] of Object.entries(quotasOf) as [Algorithm, fc.Arbitrary<Quota>][]) {
    for (const others of [false, true]) {
      const name = others ? 'refunds without a handle and charges too' : 'takes, reservations and settles'
      test(`${algorithm}: never over-admits in any order of ${name}`, () =>
        fc.assert(
          fc.asyncProperty(quotas, actsOf(others), async (quota, acts) => balance(await makeStore(), quota, acts)),
          { numRuns },
        ))
    }
  }
}
