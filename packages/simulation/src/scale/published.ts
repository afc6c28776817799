import type { Limit } from './buckets.ts'
import { evenSplit } from './schemes/local.ts'
import { replay } from './schemes/replay.ts'
import { reports } from './schemes/reports.ts'
import { pairsOf, type Traffic, trafficOf } from './traffic.ts'
import { type Scheme, simulateScheme, WAY } from './world.ts'

/** A number that others have published, and its simulation in their setting. */
export interface Published {
  readonly name: string
  readonly source: string
  readonly published: string
  simulate(): string
}

/** Requests for one key: `times` in microseconds at each of the nodes. */
function burst(nodes: number, times: readonly number[]): Traffic {
  const count = nodes * times.length
  const nodeOf = Uint16Array.from({ length: count }, (_, i) => i % nodes)
  const keyOf = new Uint32Array(count)
  return {
    ...{ nodes, keys: 1, rate: 0, seconds: 0, seed: 0 },
    times: Float64Array.from({ length: count }, (_, i) => times[Math.floor(i / nodes)] as number),
    nodeOf,
    keyOf,
    ...pairsOf(nodeOf, keyOf, 1),
  }
}

/** Counts what is admitted. */
function admittedBy(scheme: Scheme, traffic: Traffic, limit: Limit, from: number): number {
  let admitted = 0
  simulateScheme(traffic, limit, (world) =>
    scheme({
      ...world,
      decide(request, allowed, now) {
        if (allowed && (traffic.times[request] as number) >= from) admitted++
        world.decide(request, allowed, now)
      },
    }),
  )
  return admitted
}

/**
 * 162,000 tokens a minute, in requests of 1,500: each replica has seen one request, and gets 200 in the middle of the window.
 * Returns the tokens that replicas admit none of whose counts arrive at the others meanwhile.
 */
export function unsynchronised(replicas: number): number {
  const HALF = 30_000_000
  const traffic = burst(replicas, [0, ...Array.from({ length: 200 }, (_, i) => HALF + i)])
  return admittedBy(replay, traffic, { units: 162_000 / 1_500, windowMicros: 2 * HALF }, HALF) * 1_500
}

/** Returns how many of `requests` at once the gateways admit, each with an even part of the limit. */
export function splitOf(requests: number, gateways: number): number {
  const traffic = burst(
    gateways,
    Array.from({ length: Math.ceil(requests / gateways) }, () => 1),
  )
  return admittedBy(evenSplit, traffic, { units: requests, windowMicros: 1_000_000 }, 0)
}

/** Returns how far 20 nodes near the store are over a limit per second, as a part of it, at `times` the limit. */
export function reportsAt(times: number): number {
  const limit = { units: 10_000, windowMicros: 1_000_000 }
  const traffic = trafficOf({ nodes: 20, keys: 1, rate: limit.units * times, seconds: 5, seed: 1 })
  return simulateScheme(traffic, limit, reports, { near: WAY.near, far: WAY.near }).over
}

const tokens = (replicas: number): string => {
  const admitted = unsynchronised(replicas)
  return `${admitted.toLocaleString('en')} (${(admitted / 162_000).toFixed(2)} ×)`
}
const LOADS = [1.1, 1.25, 1.4, 1.5, 2]

export const PUBLISHED: readonly Published[] = [
  {
    name: 'asynchronous replay: three of five replicas decide before counts arrive',
    source: 'Unkey, `TestRatelimit_MultiReplicaMidWindowBurstExceedsLimit`',
    published: '481,500 (2.97 ×)',
    simulate: () => tokens(3),
  },
  {
    name: 'asynchronous replay: all five do',
    source: 'the same test',
    published: 'not published',
    simulate: () => tokens(5),
  },
  {
    name: 'even split: 20 a second, three gateways',
    source: 'Tyk, pull request 2676',
    published: '18 of 20 (10 % under)',
    simulate: () => `${splitOf(20, 3)} of 20`,
  },
  {
    name: `periodic reports: every 100 ms, at ${LOADS.join(', ')} × the limit`,
    source: 'Databricks, "High Performance Ratelimiting at Databricks"',
    published: 'a bound of "X % (e.g. 5 %)" for no given load',
    simulate: () => LOADS.map((times) => `${(reportsAt(times) * 100).toFixed(1)} %`).join(', '),
  },
]
