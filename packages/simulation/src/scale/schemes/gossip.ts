import { type Scheme, WAY } from '../world.ts'

/** How often each node sends its counts, in microseconds, and to how many others. */
const ROUND = 100_000
const PEERS = 3

/**
 * Gossip: each node counts what it admits, and sends what it knows to three nodes every 100 ms, so that a count has reached
 * all nodes after `log4(nodes)` rounds. A node knows the counts of the others as they were so many rounds before, and its own.
 * There is no store: the commands are messages between nodes.
 */
export const gossip: Scheme = (world) => {
  const { nodes, keys, keyOf, pairOf, pairKey } = world.traffic
  const rounds = Math.ceil(Math.log(nodes) / Math.log(PEERS + 1))
  const delay = rounds * (ROUND + WAY.far)
  const micros = world.limit.windowMicros / world.limit.units
  /** When the bucket of a key is full again, as all nodes know it; and of a pair, what its node has admitted beyond that. */
  const known = new Float64Array(keys)
  const own = new Uint32Array(pairKey.length)
  const spread = world.after(delay, (request, now) => {
    const [key, pair] = [keyOf[request] as number, pairOf[request] as number]
    known[key] = Math.max(known[key] as number, now - delay) + micros
    own[pair] = (own[pair] as number) - 1
  })
  world.everyNode(ROUND, () => {
    for (let i = 0; i < PEERS; i++) world.countCommand()
  })
  return (request, now) => {
    const [key, pair] = [keyOf[request] as number, pairOf[request] as number]
    const full = Math.max(known[key] as number, now - delay) + ((own[pair] as number) + 1) * micros
    const allowed = full - now <= world.limit.windowMicros
    if (allowed) {
      own[pair] = (own[pair] as number) + 1
      spread(request, now)
    }
    world.decide(request, allowed, now)
    world.answer(request, now)
  }
}
