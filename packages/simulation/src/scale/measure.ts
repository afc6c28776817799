import { Buckets, type Limit } from './buckets.ts'
import { REGIONS, type Traffic } from './traffic.ts'

/** Where a scheme reports its decisions. */
export interface Measure {
  /** A request is allowed or denied, where and when that is decided. */
  decide(request: number, allowed: boolean, now: number): void
  /** The decision of a request is known at its node. */
  answer(request: number, now: number): void
  countCommand(): void
}

/** What a scheme admits and costs. Shares are of keys that one bucket for all nodes denies at least once. */
export interface Report {
  /** The most units above `limit + rate × t`, of any key in any span of time, as a share of the limit. */
  readonly over: number
  /** Units admitted beyond those that one bucket admits, of all of its units. */
  readonly overTotal: number
  /** Units that one bucket admits and the scheme does not, of all of its units. */
  readonly under: number
  readonly commands: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** The region that gets the least of what one bucket admits there, that share, and its own p99. */
  readonly worst: { readonly region: number; readonly share: number; readonly p99Ms: number }
}

/** Measures decisions against one bucket for all nodes without any delay. */
export function measureOf(traffic: Traffic, limit: Limit): Measure & { report(): Report } {
  const { times, keyOf, nodeOf, keys } = traffic
  const buckets = new Buckets(keys, limit)
  const excess = new Float64Array(keys)
  const admitted = new Uint32Array(keys)
  const admittedIn = new Float64Array(keys * REGIONS)
  const delays = new Float32Array(times.length).fill(Number.NaN)
  const decided = new Uint8Array(times.length)
  let commands = 0
  return {
    decide(request, allowed, now) {
      if (decided[request]) throw new Error(`request ${request} is decided twice`)
      decided[request] = 1
      if (!allowed) return
      const key = keyOf[request] as number
      buckets.charge(key, 1, now)
      excess[key] = Math.max(excess[key] as number, -buckets.left(key, now))
      admitted[key] = (admitted[key] as number) + 1
      add(admittedIn, key * REGIONS + ((nodeOf[request] as number) % REGIONS))
    },
    answer(request, now) {
      delays[request] = (now - (times[request] as number)) / 1000
    },
    countCommand() {
      commands++
    },
    report() {
      const missing = delays.findIndex((delay, i) => Number.isNaN(delay) || !decided[i])
      if (missing >= 0) throw new Error(`request ${missing} was not answered`)
      const { admitted: expected, admittedIn: expectedIn, isLimited } = referenceOf(traffic, limit)
      const sum = { expected: 0, over: 0, under: 0 }
      const regions = Array.from({ length: REGIONS }, () => ({ admitted: 0, expected: 0 }))
      let over = 0
      for (let key = 0; key < keys; key++) {
        over = Math.max(over, (excess[key] as number) / limit.units)
        if (!isLimited[key]) continue
        const [is, should] = [admitted[key] as number, expected[key] as number]
        sum.expected += should
        sum.over += Math.max(is - should, 0)
        sum.under += Math.max(should - is, 0)
        for (const [region, each] of regions.entries()) {
          each.admitted += admittedIn[key * REGIONS + region] as number
          each.expected += expectedIn[key * REGIONS + region] as number
        }
      }
      const shares = regions.map((each) => (each.expected === 0 ? 1 : each.admitted / each.expected))
      const region = shares.indexOf(Math.min(...shares))
      return {
        over,
        overTotal: sum.over / Math.max(sum.expected, 1),
        under: sum.under / Math.max(sum.expected, 1),
        commands: commands / times.length,
        ...percentiles(delays),
        worst: {
          region,
          share: shares[region] as number,
          p99Ms: percentiles(delays.filter((_, i) => (nodeOf[i] as number) % REGIONS === region)).p99Ms,
        },
      }
    },
  }
}

/** What one bucket admits if each request reaches it at once. */
function referenceOf({ times, keyOf, nodeOf, keys }: Traffic, limit: Limit) {
  const buckets = new Buckets(keys, limit)
  const admitted = new Uint32Array(keys)
  const admittedIn = new Float64Array(keys * REGIONS)
  const isLimited = new Uint8Array(keys)
  for (const [i, now] of times.entries()) {
    const key = keyOf[i] as number
    if (!buckets.take(key, 1, now)) {
      isLimited[key] = 1
      continue
    }
    admitted[key] = (admitted[key] as number) + 1
    add(admittedIn, key * REGIONS + ((nodeOf[i] as number) % REGIONS))
  }
  return { admitted, admittedIn, isLimited }
}

const add = (counts: Float64Array, at: number): void => {
  counts[at] = (counts[at] as number) + 1
}

function percentiles(delays: Float32Array): Pick<Report, 'p50Ms' | 'p99Ms'> {
  const sorted = delays.slice().sort()
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
