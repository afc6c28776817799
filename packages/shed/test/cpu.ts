import { Gate } from '../src/gate.ts'
import { AdaptiveLimit } from '../src/limit/adaptive-limit.ts'
import { Queue } from '../src/queue/queue.ts'
import { Waits } from '../src/queue/standing.ts'
import { EventLoop } from './event-loop.ts'
import { seeded } from './simulated.ts'

/** What the handler of a request does in the event loop of the process. */
export type Handler = (loop: EventLoop, random: () => number, done: () => void) => void

/** Each computes for 1 ms on average: the process can serve 1,000 requests a second, less what it takes to read and drop others. */
export const HANDLERS: Readonly<Record<string, Handler>> = {
  'computes 1 ms': (loop, _, done) => {
    loop.compute(1)
    done()
  },
  'computes 1 ms, and is answered in a later turn': (loop, _, done) => {
    loop.compute(1)
    loop.after(0, done)
  },
  'waits 10 ms, then computes 1 ms': (loop, _, done) => {
    loop.at(loop.now() + 10, () => {
      loop.compute(1)
      done()
    })
  },
  'computes before and after a wait of 10 ms': (loop, _, done) => {
    loop.compute(0.5)
    loop.at(loop.now() + 10, () => {
      loop.compute(0.5)
      done()
    })
  },
  'computes 1 ms, exponential': (loop, random, done) => {
    loop.compute(-Math.log(1 - random()))
    done()
  },
}

/** To read a request takes so long, in ms, and to answer it with a drop. */
export const COST = 0.01

/** How requests are offered: for 10 s, of which the first 5 are not counted, by default. */
export interface CpuOffer {
  readonly seconds?: number
  /** The mean time that a request computes, in ms. */
  readonly millis?: number
  /** The time of one turn, in ms. */
  readonly maxLag?: number
  /** The index of a priority, for a number from 0 to 1. */
  readonly tierOf?: (share: number) => number
  /** Once, the process does nothing for so long, in ms. */
  readonly stall?: number
}

/** Offers `load` × what the process can compute, at random times. Requests wait in sockets until the loop reads them. */
export function compute(
  handler: Handler,
  load: number,
  seed: number,
  { seconds = 10, millis = 1, maxLag = 2, tierOf = () => 1, stall = 0 }: CpuOffer = {},
) {
  const loop = new EventLoop()
  const random = seeded(seed)
  const limit = new AdaptiveLimit({ min: 1, max: 1_000, initial: 20 })
  const gate = new Gate(limit, new Queue(1_000, new Waits(5, 100), seed), 0.1, loop, maxLag)
  const served: number[] = Array.from({ length: seconds }, () => 0)
  const latencies: number[] = []
  const [arrived, dropped] = [
    [0, 0, 0],
    [0, 0, 0],
  ]
  const request = (dueAt: number, tier: number): void => {
    const counts = dueAt >= 5_000 ? 1 : 0
    let isLater = false
    arrived[tier] = (arrived[tier] as number) + counts
    loop.compute(COST)
    gate.enter(tier, undefined, (flight) => {
      if (typeof flight === 'string') {
        dropped[tier] = (dropped[tier] as number) + counts
        loop.compute(COST)
        return
      }
      const answered = (): void => {
        flight.end('success')
        const second = Math.floor(loop.now() / 1_000)
        if (second < seconds) served[second] = (served[second] as number) + 1
        if (counts) latencies.push(loop.now() - dueAt)
      }
      // An adapter goes on in a microtask, if the request waited.
      if (isLater) loop.microtask(() => handler(loop, random, answered))
      else handler(loop, random, answered)
    })
    isLater = true
  }
  let nextAt = 0
  const arrive = (): void => {
    const dueAt = nextAt
    nextAt += (-Math.log(1 - random()) * millis) / load
    loop.at(nextAt, arrive)
    request(dueAt, tierOf(random()))
  }
  arrive()
  if (stall > 0) loop.at(6_000, () => loop.compute(stall))
  loop.runUntil(seconds * 1_000)
  latencies.sort((a, b) => a - b)
  const shares = arrived.map((all, tier) => 1 - (dropped[tier] as number) / all)
  const all = dropped.reduce((sum, each) => sum + each, 0)
  return { dropped: all, shares, served, p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN }
}
