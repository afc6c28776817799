import { Buckets } from '../buckets.ts'
import type { Scheme, World } from '../world.ts'

/** How long a denial is cached at most, in microseconds: the default of `withDenyCache`. */
const LONGEST = 1_000_000

/** Each request is a command, unless its node knows that no unit has refilled since the last denial. */
export const denyCache: Scheme = (world) => throughDenyCache(world, new Buckets(world.traffic.keys, world.limit))

/** Decides requests one by one; `learn` is called with what the store has answered. */
export function throughDenyCache(
  world: World,
  buckets: Buckets,
  learn: (request: number, allowed: boolean, now: number) => void = () => {},
): (request: number, now: number) => void {
  const { times, nodeOf, keyOf, pairOf, pairKey } = world.traffic
  const deniedUntil = new Float64Array(pairKey.length)
  /** How long after the denial of a request a unit has refilled. */
  const wait = new Float64Array(times.length)
  const reply = world.toNode((request, now) => {
    deniedUntil[pairOf[request] as number] = now + Math.min(wait[request] as number, LONGEST)
    learn(request, wait[request] === 0, now)
    world.answer(request, now)
  })
  const ask = world.toStore((request, now) => {
    const key = keyOf[request] as number
    const allowed = buckets.take(key, 1, now)
    wait[request] = allowed ? 0 : buckets.fullAt(key, now) - now - (world.limit.windowMicros - buckets.micros)
    world.decide(request, allowed, now)
    reply(request, nodeOf[request] as number, now)
  })
  return (request, now) => {
    if (now >= (deniedUntil[pairOf[request] as number] as number)) return ask(request, nodeOf[request] as number, now)
    world.decide(request, false, now)
    world.answer(request, now)
  }
}
