import type { Limit } from './buckets.ts'
import { type Measure, measureOf, type Report } from './measure.ts'
import { REGIONS, type Traffic } from './traffic.ts'
import { Wire } from './wire.ts'

/** Sends a message about a request or a pair, by its number, from or to a node. */
export type Send = (id: number, node: number, now: number) => void

/** What a scheme sees: the traffic, the way to the store and back, time, and where it reports its decisions. */
export interface World extends Measure {
  readonly traffic: Traffic
  readonly limit: Limit
  /** The way from the nodes to the store. Each message is a command. */
  toStore(deliver: (id: number, now: number) => void): Send
  /** The way back. */
  toNode(deliver: (id: number, now: number) => void): Send
  /** Calls `deliver` so long after each `send`. */
  after(micros: number, deliver: (id: number, now: number) => void): (id: number, now: number) => void
  /** Calls `run` for each node once in `micros`, the nodes one after the other. */
  everyNode(micros: number, run: (node: number, now: number) => void): void
  /** Counts a message that no `toStore` has sent. */
  countCommand(): void
}

/** Decides each request, when it arrives or later. */
export type Scheme = (world: World) => (request: number, now: number) => void

/** One way between a node and the store, in microseconds: in the store's region, and in the others, 80 ms away and back. */
export const WAY: { readonly near: number; readonly far: number } = { near: 250, far: 40_000 }

/** How long the simulation goes on after the last request, so that all of them are answered. */
const REST = 1_000_000

/** Runs a scheme on the traffic. */
export function simulateScheme(traffic: Traffic, limit: Limit, scheme: Scheme, way: typeof WAY = WAY): Report {
  const wires: Wire[] = []
  const measure = measureOf(traffic, limit)
  const wire = (delay: number, deliver: (id: number, now: number) => void): Wire => {
    const added = new Wire(delay, deliver)
    wires.push(added)
    return added
  }
  const byRegion = (deliver: (id: number, now: number) => void): Send => {
    const lanes = Array.from({ length: REGIONS }, (_, region) => wire(region === 0 ? way.near : way.far, deliver))
    return (id, node, now) => (lanes[node % REGIONS] as Wire).send(id, now)
  }
  const world: World = {
    ...measure,
    traffic,
    limit,
    toStore(deliver) {
      const send = byRegion(deliver)
      return (id, node, now) => {
        measure.countCommand()
        send(id, node, now)
      }
    },
    toNode: byRegion,
    after(micros, deliver) {
      const timer = wire(micros, deliver)
      return (id, now) => timer.send(id, now)
    },
    everyNode(micros, run) {
      const timer = wire(micros, (node, now) => {
        run(node, now)
        timer.send(node, now)
      })
      for (let node = 0; node < traffic.nodes; node++) timer.send(node, ((node + 1) / traffic.nodes - 1) * micros)
    },
  }
  const arrive = scheme(world)
  const { times } = traffic
  const end = (times.at(-1) ?? 0) + REST
  for (let i = 0; ; ) {
    let first: Wire | undefined
    for (const each of wires) if (first === undefined || each.next < first.next) first = each
    const arrival = times[i] ?? end
    const due = first?.next ?? Number.POSITIVE_INFINITY
    if (Math.min(arrival, due) >= end) break
    if (due < arrival) first?.deliver()
    else arrive(i++, arrival)
  }
  return measure.report()
}
