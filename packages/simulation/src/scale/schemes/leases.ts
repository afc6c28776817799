import { Buckets } from '../buckets.ts'
import { Waiting } from '../waiting.ts'
import type { Scheme } from '../world.ts'
import { throughDenyCache } from './deny-cache.ts'

/** The options of `withLeases`: the most requests of a lease; `maxLoss` and `idle` in microseconds. */
const [REQUESTS, MAX_LOSS, IDLE] = [1_000, 1_000_000, 1_000_000]

/** `withLeases`, with the sizes of `lease-size.ts` in core: a node holds units until the bucket has refilled them. */
export const leases: Scheme = (world) => {
  const { pairOf, pairKey, pairNode, keys } = world.traffic
  const buckets = new Buckets(keys, world.limit)
  const { micros } = buckets
  const pairs = pairKey.length
  /** The units that a pair holds are the last ones before `full`. */
  const [held, size, asked, granted] = [0, 0, 0, 0].map(() => new Uint32Array(pairs)) as Uint32Arrays
  const [full, usedAt] = [new Float64Array(pairs), new Float64Array(pairs)]
  const waiting = new Waiting(world.traffic)

  const roomAt = (pair: number, now: number): number =>
    Math.floor(world.limit.units - Math.max((full[pair] as number) - now, 0) / micros + 1e-6)
  const left = (pair: number, now: number): number =>
    Math.min(held[pair] as number, Math.max(Math.floor(((full[pair] as number) - now) / micros + 1e-6), 0))
  const sizeOf = (pair: number, now: number): number => {
    if (size[pair] === 0 || now - (usedAt[pair] as number) > IDLE) return 1
    const most = Math.min(roomAt(pair, now) / 2, MAX_LOSS / micros)
    return Math.max(Math.min(size[pair] as number, Math.floor(most)), 1)
  }
  const learn = (pair: number, units: number, allowed: boolean, now: number): void => {
    const known = Math.max(size[pair] as number, 1)
    const grown = units < known ? known : Math.min(known * 2, REQUESTS)
    size[pair] = allowed ? grown : Math.max(known >> 1, 1)
    usedAt[pair] = now
  }
  const finish = (request: number, allowed: boolean, now: number): void => {
    world.decide(request, allowed, now)
    world.answer(request, now)
  }

  const askOne = throughDenyCache(world, buckets, (request, allowed, now) => {
    const pair = pairOf[request] as number
    full[pair] = buckets.fullAt(pairKey[pair] as number, now)
    learn(pair, 1, allowed, now)
  })
  const answer = world.toNode((pair, now) => {
    let units = granted[pair] as number
    let room = roomAt(pair, now)
    for (let next = waiting.remove(pair); next !== undefined; next = waiting.remove(pair)) {
      if (units > 0) {
        units--
        finish(next, true, now)
      } else if (granted[pair] !== 0 || room-- > 0) askOne(next, now)
      else finish(next, false, now)
    }
    held[pair] = left(pair, now) + units
    asked[pair] = 0
    if (units > 0) watch(pair, now)
  })
  const ask = world.toStore((pair, now) => {
    const [key, units] = [pairKey[pair] as number, asked[pair] as number]
    const allowed = buckets.take(key, units, now)
    granted[pair] = allowed ? units : 0
    full[pair] = buckets.fullAt(key, now)
    learn(pair, units, allowed, now)
    answer(pair, pairNode[pair] as number, now)
  })
  const returned = world.toStore((pair, now) => {
    buckets.charge(pairKey[pair] as number, -(granted[pair] as number), now)
    granted[pair] = 0
  })
  /** Returns an unused lease. */
  const watch = world.after(IDLE, (pair, now) => {
    const units = left(pair, now)
    if (units === 0 || asked[pair] !== 0 || now - (usedAt[pair] as number) < IDLE) return
    granted[pair] = units
    held[pair] = 0
    size[pair] = Math.max((size[pair] as number) >> 1, 1)
    returned(pair, pairNode[pair] as number, now)
  })

  return (request, now) => {
    const pair = pairOf[request] as number
    const units = left(pair, now)
    if (units > 0) {
      held[pair] = units - 1
      usedAt[pair] = now
      return finish(request, true, now)
    }
    if (asked[pair] === 0) {
      const next = sizeOf(pair, now)
      if (next === 1) return askOne(request, now)
      asked[pair] = next
      ask(pair, pairNode[pair] as number, now)
    }
    waiting.add(pair, request)
  }
}

type Uint32Arrays = [Uint32Array, Uint32Array, Uint32Array, Uint32Array]
