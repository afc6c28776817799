import type { Duration, Micros, Taken } from '@spillway/core'
import { httpGuard, type Verdict } from '@spillway/core/http'
import { inFlight, type SlotsQuota } from '@spillway/core/in-flight'
import { decide, stepFor } from '@spillway/core/internal'
import { type MemoryStore, memoryStore } from '@spillway/memory'
import { durationText } from '../algorithms.ts'
import { type Answer, keyBy, type Level, type Run, reader, replyTo, requestOf, startOf } from '../app.ts'
import { withClock } from '../clock.ts'
import type { LaneKind } from '../lane-kind.ts'
import type { Choices } from '../link.ts'
import { SimulatedTime } from '../simulated.ts'
import { levelAt, spanText } from '../summary.ts'
import { type Arrival, seeded, type Traffic } from '../traffic.ts'

/** How many slots a client has, and how long a request takes on average. */
type Numbers = Pick<Choices, 'limit' | 'takes' | 'apart' | 'headers'>

/** How long a request takes on average. Throws core's QuotaError if it is invalid. */
export const meanOf = ({ takes }: Pick<Choices, 'takes'>): Duration => durationText(Math.round(takes * 1000))

/** Slots that are held for as long as a request takes: a request that finds none is denied, or waits. */
export function slots(choices: Choices): readonly LaneKind[] {
  const { limit } = choices
  const maxWait = meanOf(choices)
  const quota = `inFlight(${limit})`
  const lane = (id: string, name: string, code: string, options: readonly string[], wait?: Duration): LaneKind => ({
    id,
    name,
    code,
    options: [`quota: ${quota}`],
    httpOptions: options,
    imports: ['inFlight'],
    acquire: wait === undefined ? `'alice'` : `'alice', { maxWait: '${wait}' }`,
    left: 'slots in use',
    now: ({ lines }, at) => (wait === undefined ? '' : `${levelAt(lines[1] ?? { points: [] }, at)} waiting`),
    run: (traffic) => runSlots(traffic, choices, wait),
  })
  return [
    lane('deny', 'Denies at once', quota, []),
    lane('wait', 'Waits for a slot', `${quota}, maxWait: '${maxWait}'`, [`maxWait: '${maxWait}'`], maxWait),
  ]
}

async function runSlots(traffic: Traffic, choices: Numbers, maxWait: Duration | undefined): Promise<Run> {
  const { limit, takes, apart, headers } = choices
  const quota = inFlight(limit)
  const start = startOf(quota.window)
  const time = new SimulatedTime(start)
  const store = memoryStore({ clock: () => time.now })
  const keyOf = keyBy(apart)
  const guard = httpGuard<Arrival>(
    { quota, key: keyOf, cost: ({ cost }) => cost, headers, store, ...(maxWait && { maxWait }) },
    reader,
  )
  const key = keyOf({ client: 'you' })
  const [used, waiting]: [Level[], Level[]] = [[], []]
  let isWaiting = 0
  const read = (): void => {
    const at = time.now - start
    if (at > traffic.span) return
    used.push({ at, units: usedIn(store, quota, key) })
    waiting.push({ at, units: isWaiting })
  }
  const answers: Answer[] = []
  let [open, endedAt] = [traffic.arrivals.length, start]
  const ended = (): void => {
    open -= 1
    endedAt = time.now
    // So that there is an event after the timer.
    if (open === 0) time.at(endedAt + 2 * quota.window, () => {})
  }
  const arrive = async (arrival: Arrival, index: number): Promise<void> => {
    const own = keyOf(arrival) === key
    const pending = guard(requestOf(arrival))
    const isPending = own && pending instanceof Promise
    if (isPending) isWaiting += 1
    read()
    const verdict = (await pending) as Verdict
    if (isPending) isWaiting -= 1
    answers[index] = { arrival, ...answered(verdict, time.now - start - arrival.at, takenBy(arrival, takes)) }
    read()
    if (verdict.denial) {
      ended()
      return
    }
    time.at(time.now + takenBy(arrival, takes), async () => {
      await verdict.after?.(200, undefined)
      read()
      ended()
    })
  }
  await withClock(time, async () => {
    read()
    for (const [index, arrival] of traffic.arrivals.entries()) time.at(start + arrival.at, () => arrive(arrival, index))
    // Then the timer that renews slots fires once more, finds none, and ends.
    await time.run(() => open === 0 && time.now - endedAt > quota.window)
  })
  const most = Math.max(limit, ...waiting.map(({ units }) => units))
  const delays = answers.filter(({ decision }) => decision.allowed).map(({ decision }) => decision.delayMs)
  return {
    answers,
    lines: [
      { name: 'slots in use', top: most, points: used },
      ...(maxWait ? [{ name: 'waiting', top: most, points: waiting }] : []),
      {
        name: 'slots',
        top: most,
        isLimit: true,
        points: [
          { at: 0, units: limit },
          { at: traffic.span, units: limit },
        ],
      },
    ],
    facts: { 'Longest wait of those': spanText(delays.reduce((most, each) => Math.max(most, each), 0)) },
  }
}

/** How long a request takes: half of the mean to three halves, the same at each visit. */
const takenBy = ({ at }: Arrival, takes: number): Micros => Math.round(takes * 1e6 * (0.5 + seeded(at)()))

function answered(verdict: Verdict, waited: Micros, taken: Micros): Omit<Answer, 'arrival'> {
  const reply = replyTo(verdict)
  const decision = { ...reply.decision, delayMs: waited / 1000 }
  const wait = waited > 0 ? ` after ${spanText(decision.delayMs)}` : ''
  const note = decision.allowed ? `allowed${wait}, takes ${spanText(taken / 1000)}` : `denied${wait}: no slot is free`
  return { ...reply, decision, note }
}

function usedIn({ takeSync }: MemoryStore, quota: SlotsQuota, key: string): number {
  const step = stepFor(quota, 'peek', 1)
  const [taken] = takeSync([{ policy: 'default', key, step }]) as [Taken]
  return quota.limit - decide('default', quota, 1, step, taken).remaining
}
