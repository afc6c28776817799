import { Buckets } from '../buckets.ts'
import type { Scheme } from '../world.ts'

/** How often a node reports, in microseconds. */
const REPORTED = 100_000

/**
 * Periodic reports, as published: a node admits by itself, and reports every 100 ms what it has admitted and been asked for,
 * all keys in one command. The store counts in a bucket that may go into debt, and answers with the share of requests that the
 * node denies until its next report: what the demand for the key is above its rate.
 */
export const reports: Scheme = (world) => {
  const { nodes, keys, nodeOf, pairOf, pairKey } = world.traffic
  const buckets = new Buckets(keys, world.limit)
  const rate = world.limit.units / world.limit.windowMicros
  /** Since the last report, and in the report under way. */
  const [admitted, asked] = [new Uint32Array(pairKey.length), new Uint32Array(pairKey.length)]
  const [admittedSent, askedSent] = [new Uint32Array(pairKey.length), new Uint32Array(pairKey.length)]
  /** The share of a pair's requests that its node denies, the store's answer, and the part of a request that is owed to it. */
  const [denied, answer, owed] = [pairKey, pairKey, pairKey].map(({ length }) => new Float32Array(length)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ]
  /** The demand for a key in requests a microsecond, averaged over some reports. */
  const [demand, measuredAt] = [new Float64Array(keys), new Float64Array(keys)]
  const used: number[][] = Array.from({ length: nodes }, () => [])
  const underWay: (readonly number[])[] = Array.from({ length: nodes }, () => [])

  const receive = world.toNode((node) => {
    for (const pair of underWay[node] as readonly number[]) denied[pair] = answer[pair] as number
  })
  const report = world.toStore((node, now) => {
    for (const pair of underWay[node] as readonly number[]) {
      const key = pairKey[pair] as number
      buckets.charge(key, admittedSent[pair] as number, now)
      const decay = Math.exp(((measuredAt[key] as number) - now) / REPORTED)
      const seen = (demand[key] as number) * decay + (askedSent[pair] as number) / REPORTED
      demand[key] = seen
      measuredAt[key] = now
      answer[pair] = buckets.left(key, now) > 0 || seen <= rate ? 0 : 1 - rate / seen
    }
    receive(node, node, now)
  })
  world.everyNode(REPORTED, (node, now) => {
    const pairs = used[node] as number[]
    if (pairs.length === 0) return
    underWay[node] = pairs
    used[node] = []
    for (const pair of pairs) {
      admittedSent[pair] = admitted[pair] as number
      askedSent[pair] = asked[pair] as number
      admitted[pair] = asked[pair] = 0
    }
    report(node, node, now)
  })

  return (request, now) => {
    const pair = pairOf[request] as number
    if (asked[pair] === 0) used[nodeOf[request] as number]?.push(pair)
    asked[pair] = (asked[pair] as number) + 1
    const debt = (owed[pair] as number) + (denied[pair] as number)
    const allowed = debt < 1
    owed[pair] = allowed ? debt : debt - 1
    if (allowed) admitted[pair] = (admitted[pair] as number) + 1
    world.decide(request, allowed, now)
    world.answer(request, now)
  }
}
