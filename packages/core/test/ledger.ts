import { fakeClock, modelStore, START } from '@spillway/conformance'
import type fc from 'fast-check'
import { expect, vi } from 'vitest'
import {
  type BucketQuota,
  type BucketTaken,
  type LeasingStore,
  type Micros,
  type Store,
  type Take,
  withLeases,
} from '../src/index.ts'
import { type StepOptions, stepFor, type Verb } from '../src/internal.ts'

/** What a process does to a key, some time after the act before it, whether or not that has been answered. */
export interface Act {
  readonly process: number
  readonly does: 'consume' | 'peek' | 'batch' | 'settle' | 'refund' | 'delete' | 'release'
  /** Units, or a part of the whole bucket. */
  readonly cost: number
  readonly afterMicros: Micros
  /** Comes after the answers to all acts before it. */
  readonly waits: boolean
  /** Which of the process's takes a settle is for. */
  readonly which: number
}

/** Units that were admitted: when, and the order of its call and its answer among all events. */
interface Entry {
  readonly turn: Micros
  readonly called: number
  readonly answered: number
  readonly taken: BucketTaken
  readonly process: number
  readonly cost: number
  units: number
  settled: boolean
}

const FIRST: Act = { process: 0, does: 'consume', cost: 1, afterMicros: 0, waits: false, which: 0 }

interface Played {
  readonly entries: readonly Entry[]
  /** The order of the calls and answers of resets. */
  readonly resets: readonly (readonly [called: number, answered: number])[]
  /** Units that refunds without a take have returned, and those of takes. */
  readonly granted: number
  readonly refunded: number
}

/** Plays a program over one store, whose requests and answers are delivered in the order that the scheduler draws. */
export async function play(
  quota: BucketQuota,
  program: readonly Act[],
  s: fc.Scheduler,
  { processes = 1, requests = 4, ahead = 0, warm = 0 },
): Promise<Played> {
  const clock = fakeClock()
  const model = modelStore(clock)
  let isOrdered = true
  const delivered = async (what: string): Promise<void> => {
    if (!isOrdered) await s.schedule(Promise.resolve(), what)
  }
  const remote: Store = {
    async take(ops) {
      await delivered('request')
      const taken = model.takeSync(ops)
      await delivered('answer')
      return taken
    },
    async delete(keys) {
      await delivered('request')
      const deleted = model.deleteSync(keys)
      await delivered('answer')
      return deleted
    },
  }
  // A stopwatch that goes faster than the store's clock: ours is ahead, whatever the answers take.
  const stopwatch = (): number => ((clock() - START) / 1000) * (1 + ahead)
  const stores = Array.from({ length: processes }, () => withLeases(remote, { requests, maxLoss: '1m', stopwatch }))
  const entries: Entry[] = []
  const resets: [number, number][] = []
  let [event, granted, refunded] = [0, 0, 0]
  const takeOf = (key: string, verb: Verb, cost: number, stepOptions?: StepOptions): Take => ({
    policy: 'p',
    key,
    step: stepFor(quota, verb, cost, stepOptions),
  })

  const consume = async (store: Store, { process, cost }: Act, keys: readonly string[]): Promise<void> => {
    const [called, calledAt] = [event++, clock()]
    const all = (await store.take(keys.map((key) => takeOf(key, 'consume', cost)))) as BucketTaken[]
    if (!all.every(({ allowed }) => allowed)) return
    const taken = all[0] as BucketTaken
    // Somewhere between the call and its answer: when the store says, unless that is later than the answer.
    const turn = Math.min(Math.max(taken.now, calledAt), clock())
    entries.push({ turn, called, answered: event++, taken, process, cost, units: cost, settled: false })
  }
  const refund = async (store: Store, cost: number, stepOptions?: StepOptions): Promise<number> => {
    const [taken] = (await store.take([takeOf('a', 'refund', cost, stepOptions)])) as [BucketTaken]
    const returned = ((taken.base - taken.tat) * quota.scale - earlier(taken)) / quota.ticksPerUnit
    refunded += returned
    return returned
  }
  const settle = async (store: Store, { process, cost, which }: Act): Promise<void> => {
    const open = entries.filter((each) => !each.settled && each.process === process)
    const of = open[which % open.length]
    if (of === undefined) return
    of.settled = true
    const returned = await refund(store, Math.min(cost, of.cost), { original: of.taken })
    // Of a state that was reset since, it returns what others have taken.
    if (resets.some((span) => span[1] > of.called)) granted += returned
    else of.units -= returned
  }
  const reset = async (store: Store): Promise<void> => {
    const span: [number, number] = [event++, Number.POSITIVE_INFINITY]
    resets.push(span)
    await store.delete([{ policy: 'p', key: 'a' }])
    span[1] = event++
  }
  const does: Readonly<Record<Act['does'], (store: LeasingStore, act: Act) => Promise<unknown>>> = {
    consume: (store, act) => consume(store, act, ['a']),
    batch: (store, act) => consume(store, act, ['a', 'b']),
    peek: (store, { cost }) => store.take([takeOf('a', 'peek', cost)]),
    settle,
    async refund(store, { cost }) {
      const returned = await refund(store, cost)
      granted += returned
    },
    delete: reset,
    release: (store) => store.release(),
  }
  // Leases grow with use: some requests before the program, each answered at once.
  for (let i = 0; i < warm * processes; i++) {
    const process = i % processes
    await does.consume(stores[process] as LeasingStore, { ...FIRST, process })
  }
  isOrdered = false
  const underWay: Promise<unknown>[] = []
  const drive = async (): Promise<void> => {
    for (const each of program) {
      if (each.waits) await Promise.all(underWay)
      else await s.schedule(Promise.resolve(), 'act')
      clock.advanceMicros(each.afterMicros)
      vi.advanceTimersByTime(Math.round((each.afterMicros * (1 + ahead)) / 1000))
      const cost = each.cost < 1 ? Math.floor(each.cost * quota.limit) : each.cost
      underWay.push(does[each.does](stores[each.process] as LeasingStore, { ...each, cost }))
    }
    await Promise.all(underWay)
  }
  await s.waitFor(drive())
  await s.waitIdle()
  vi.clearAllTimers()
  return { entries, resets, granted, refunded }
}

/** In no span of time is more admitted than the burst and the rate, and what was reset or refunded. */
export function expectBalance(quota: BucketQuota, { entries, resets }: Played, more: number): void {
  const sorted = [...entries].sort((a, b) => a.turn - b.turn)
  for (const [i, first] of sorted.entries()) {
    let [units, called, answered] = [0, Number.POSITIVE_INFINITY, 0]
    for (const each of sorted.slice(i)) {
      units += each.units
      called = Math.min(called, each.called)
      answered = Math.max(answered, each.answered)
      // A reset that is not over before all of them are asked, nor asked after all are answered.
      const bursts = 1 + resets.filter((reset) => reset[1] > called && reset[0] < answered).length
      const most = bursts * quota.limit + spanOf(quota, first.turn, each.turn) + more
      if (units > most + 1e-6) expect.fail(`${units} units, ${most} at most`)
    }
  }
}

const earlier = ({ early }: BucketTaken): number => (early?.base ?? 0) - (early?.tat ?? 0)

function spanOf({ schedule, ticksPerUnit: unit, scale }: BucketQuota, from: Micros, to: Micros): number {
  if (schedule === null) return ((to - from) * scale) / unit
  const tick = (at: Micros): number => Math.floor((at + schedule.offset) / schedule.interval) * schedule.amount
  return tick(to) - tick(from)
}
