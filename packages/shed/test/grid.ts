import { Gate } from '../src/gate.ts'
import { AdaptiveLimit } from '../src/limit/adaptive-limit.ts'
import { Queue } from '../src/queue/queue.ts'
import { Waits } from '../src/queue/standing.ts'
import { after, type Service, servers } from './bottlenecks.ts'
import { SimulatedTime, seeded } from './simulated.ts'

/** The services of the grid: each can serve 1,000 calls a second. */
export const SERVICES: Readonly<Record<string, (time: SimulatedTime, random: () => number) => Service>> = {
  'a semaphore of 20, 20 ms each': (time) => servers(time, 20, () => 20),
  'a semaphore of 20, exponential': (time, random) => servers(time, 20, () => -20 * Math.log(1 - random())),
  'a CPU, 1 ms each': (time) => servers(time, 1, () => 1),
  'a CPU after a wait of 10 ms': (time) =>
    after(
      time,
      () => 10,
      servers(time, 1, () => 1),
    ),
  'a pool of 10 connections': (time, random) =>
    after(
      time,
      () => 5,
      servers(time, 10, () => 5 + 10 * random()),
    ),
  'a semaphore of 200, 200 ms each': (time, random) => servers(time, 200, () => 150 + 100 * random()),
}

/** Services that are half as fast between 10 and 20 s. */
export const SLOWING: typeof SERVICES = {
  'a semaphore that slows down': (time, random) => servers(time, 20, () => slowness(time) * (15 + 10 * random())),
  'a CPU that slows down': (time) => servers(time, 1, () => slowness(time)),
}

const slowness = (time: SimulatedTime): number => (time.now() >= 10_000 && time.now() < 20_000 ? 2 : 1)

/** What came of the calls that arrived after the first 5 s. */
export interface Outcome {
  readonly dropped: number
  /** The 99th percentile of the time from arrival to answer of the calls that were served, in ms. */
  readonly p99: number
  /** How many calls were served in each second. */
  readonly served: readonly number[]
  /** The limits of the processes, added up, at the end. */
  readonly limits: number
}

/** How a load is offered: for 15 s and to one process, by default. */
export interface Offer {
  readonly seconds?: number
  readonly processes?: number
  /** How far the clock of each process is ahead of the one before, in ms. */
  readonly skew?: number
}

/** Offers `load` × 1,000 calls a second, at random times, to processes that share the service. */
export function offer(
  make: (typeof SERVICES)[string],
  load: number,
  seed: number,
  { seconds = 15, processes = 1, skew = 0 }: Offer = {},
): Outcome {
  const time = new SimulatedTime()
  const random = seeded(seed)
  const service = make(time, random)
  const gates = Array.from({ length: processes }, (_, index) => {
    const limit = new AdaptiveLimit({ min: 1, max: 1_000, initial: 20 })
    return new Gate(
      limit,
      new Queue(1_000, new Waits(5, 100), seed),
      0.1,
      {
        now: () => time.now() + index * skew,
        after: time.after,
      },
      2,
    )
  })
  const served: number[] = Array.from({ length: seconds }, () => 0)
  const latencies: number[] = []
  let dropped = 0
  const arrive = (): void => {
    const at = time.now()
    const counts = at >= 5_000
    const gate = gates[processes > 1 ? Math.floor(random() * processes) : 0] as Gate
    gate.enter(1, undefined, (flight) => {
      if (typeof flight === 'string') {
        if (counts) dropped += 1
        return
      }
      service(() => {
        flight.end('success')
        const second = Math.floor(time.now() / 1_000)
        if (second < seconds) served[second] = (served[second] as number) + 1
        if (counts) latencies.push(time.now() - at)
      })
    })
    time.after(-Math.log(1 - random()) / load, arrive)
  }
  arrive()
  time.runUntil(seconds * 1_000)
  latencies.sort((a, b) => a - b)
  const limits = gates.reduce((sum, { limit }) => sum + limit, 0)
  return { dropped, served, limits, p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN }
}

/** How many calls were served a second, on average, from one second to another. */
export function rate({ served }: Pick<Outcome, 'served'>, from: number, to: number = served.length): number {
  const counted = served.slice(from, to)
  return counted.reduce((sum, each) => sum + each, 0) / counted.length
}
