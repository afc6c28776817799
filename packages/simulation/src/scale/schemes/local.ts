import { Buckets } from '../buckets.ts'
import type { Scheme, World } from '../world.ts'

/** Each node counts by itself, as while the store cannot be reached. `unitsOf` is the limit of a node. */
const apart =
  (unitsOf: (world: World) => number): Scheme =>
  (world) => {
    const { pairOf, pairKey } = world.traffic
    const units = unitsOf(world)
    const buckets = new Buckets(pairKey.length, { ...world.limit, units })
    return (request, now) => {
      world.decide(request, units > 0 && buckets.take(pairOf[request] as number, 1, now), now)
      world.answer(request, now)
    }
  }

/** `onStoreError: 'local'` while all nodes are cut off: each enforces the whole limit. */
export const localFallback: Scheme = apart(({ limit }) => limit.units)

/** The same with `replicas`: each enforces its part of the limit, one unit at least. */
export const localReplicas: Scheme = apart(({ limit, traffic }) => Math.max(Math.floor(limit.units / traffic.nodes), 1))

/** Each node gets an even part of the limit, in whole units. */
export const evenSplit: Scheme = apart(({ limit, traffic }) => Math.floor(limit.units / traffic.nodes))
