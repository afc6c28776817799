import { Buckets } from '../buckets.ts'
import type { Scheme } from '../world.ts'

/** Each request is a command. */
export const exact: Scheme = (world) => {
  const { nodeOf, keyOf, keys } = world.traffic
  const buckets = new Buckets(keys, world.limit)
  const reply = world.toNode(world.answer)
  const ask = world.toStore((request, now) => {
    world.decide(request, buckets.take(keyOf[request] as number, 1, now), now)
    reply(request, nodeOf[request] as number, now)
  })
  return (request, now) => ask(request, nodeOf[request] as number, now)
}
