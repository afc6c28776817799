import { Buckets } from '../buckets.ts'
import { Waiting } from '../waiting.ts'
import type { Scheme } from '../world.ts'
import { throughDenyCache } from './deny-cache.ts'

/**
 * `withSharedQuota` with a `margin`, with the rules of `share-server.ts` in core: a node holds units for a part of the
 * window.
 */
export const sharedWith =
  (margin: number): Scheme =>
  (world) => {
    const { pairOf, pairKey, pairNode, keys } = world.traffic
    const buckets = new Buckets(keys, world.limit)
    const pairs = pairKey.length
    const hold = margin * world.limit.windowMicros
    /** The largest share, and what no share takes from the bucket. */
    const most = Math.floor(margin * world.limit.units)
    /** The units that a pair holds, and those that it holds next, and when they were asked for. */
    const [held, next, wanted] = [0, 0, 0].map(() => new Uint32Array(pairs)) as Uint32Arrays
    const [granted, isAsking] = [new Uint32Array(pairs), new Uint8Array(pairs)]
    const [current, before, windowOf] = [0, 0, 0].map(() => new Uint32Array(pairs)) as Uint32Arrays
    const [heldFrom, nextFrom, askedAt] = [0, 0, 0].map(() => new Float64Array(pairs)) as Float64Arrays
    const [heldFull, nextFull, full] = [0, 0, 0].map(() => new Float64Array(pairs)) as Float64Arrays
    const [trip, pausedUntil] = [new Float64Array(pairs), new Float64Array(pairs)]
    const waiting = new Waiting(world.traffic)

    const finish = (request: number, allowed: boolean, now: number): void => {
      world.decide(request, allowed, now)
      world.answer(request, now)
    }
    /** For what part of a hold the units of a pair last: a hold, or until the bucket has refilled them. */
    const life = (pair: number, now: number): number =>
      Math.max((heldFrom[pair] as number) + hold, heldFull[pair] as number) / hold - now / hold
    const left = (pair: number, now: number): number => {
      if (now - (heldFrom[pair] as number) >= hold) {
        const refilled = Math.floor(((heldFull[pair] as number) - now) / buckets.micros)
        held[pair] = Math.min(held[pair] as number, Math.max(refilled, 0))
      }
      if (held[pair] === 0 && next[pair] !== 0) {
        keep(pair, next[pair] as number, nextFrom[pair] as number, nextFull[pair] as number)
        next[pair] = 0
        return left(pair, now)
      }
      return held[pair] as number
    }
    const keep = (pair: number, units: number, from: number, full: number): void => {
      held[pair] = units
      heldFrom[pair] = from
      heldFull[pair] = full
    }
    /** Counts a request in the window of a hold. */
    const count = (pair: number, now: number): void => {
      const windows = Math.floor(now / hold) - (windowOf[pair] as number)
      if (windows > 0) {
        before[pair] = windows === 1 ? (current[pair] as number) : 0
        current[pair] = 0
        windowOf[pair] = Math.floor(now / hold)
      }
      current[pair] = (current[pair] as number) + 1
    }
    /** The requests of the last hold, about, as far as a node may hold units for them. */
    const demand = (pair: number, now: number): number =>
      Math.min(
        (current[pair] as number) + (before[pair] as number) * (1 - (now / hold - (windowOf[pair] as number))),
        most,
      )
    const sizeOf = (pair: number, now: number): number => {
      const wants = demand(pair, now)
      const has = held[pair] === 0 ? 0 : Math.min(held[pair] as number, wants * life(pair, now))
      return Math.max(Math.ceil(wants - has), waiting.count(pair), 1)
    }
    /** Whether the units of a pair last no longer than the next ones take to arrive, and that is worth a command. */
    const isLow = (pair: number, now: number): boolean => {
      const ahead = (1.5 * (trip[pair] as number)) / hold
      const wants = demand(pair, now)
      if (sizeOf(pair, now) * 2 < wants) return false
      return (held[pair] as number) <= wants * ahead || life(pair, now) <= ahead
    }
    const askAhead = (pair: number, now: number): void => {
      if (isAsking[pair] || next[pair] !== 0 || now < (pausedUntil[pair] as number) - (trip[pair] as number)) return
      if (isLow(pair, now)) start(pair, now)
    }

    const askOne = throughDenyCache(world, buckets)
    /** Answers the requests that wait, and returns the units that are left. */
    const serve = (pair: number, isShort: boolean, now: number): number => {
      let units = granted[pair] as number
      while (waiting.count(pair) > 0 && (units > 0 || isShort)) {
        finish(waiting.remove(pair) as number, units > 0, now)
        if (units > 0) units--
      }
      return units
    }
    const answer = world.toNode((pair, now) => {
      const isShort = (granted[pair] as number) < (wanted[pair] as number)
      const from = askedAt[pair] as number
      trip[pair] = now - from
      isAsking[pair] = 0
      if (isShort) pausedUntil[pair] = from + hold * (0.5 + (Math.floor(now) % 1024) / 2048)
      const units = serve(pair, isShort, now)
      if (units > 0 && left(pair, now) > 0) {
        next[pair] = units
        nextFrom[pair] = from
        nextFull[pair] = full[pair] as number
      } else if (units > 0) keep(pair, units, from, full[pair] as number)
      if (waiting.count(pair) > 0) start(pair, now)
    })
    const ask = world.toStore((pair, now) => {
      const key = pairKey[pair] as number
      granted[pair] = Math.max(Math.min(wanted[pair] as number, buckets.left(key, now) - most), 0)
      buckets.charge(key, granted[pair] as number, now)
      full[pair] = buckets.fullAt(key, now)
      answer(pair, pairNode[pair] as number, now)
    })
    const start = (pair: number, now: number): void => {
      wanted[pair] = sizeOf(pair, now)
      askedAt[pair] = now
      isAsking[pair] = 1
      ask(pair, pairNode[pair] as number, now)
    }

    /** Decides a request at its node, if that is possible. */
    const decide = (pair: number, request: number, now: number): boolean => {
      const has = left(pair, now)
      if (has === 0 && now >= (pausedUntil[pair] as number)) return false
      if (has > 0) held[pair] = has - 1
      finish(request, has > 0, now)
      askAhead(pair, now)
      return true
    }
    return (request, now) => {
      const pair = pairOf[request] as number
      if (most < 2) return askOne(request, now)
      count(pair, now)
      if (decide(pair, request, now)) return
      if (!isAsking[pair] && sizeOf(pair, now) === 1) return askOne(request, now)
      waiting.add(pair, request)
      if (!isAsking[pair]) start(pair, now)
    }
  }

type Uint32Arrays = [Uint32Array, Uint32Array, Uint32Array]
type Float64Arrays = [Float64Array, Float64Array, Float64Array]
