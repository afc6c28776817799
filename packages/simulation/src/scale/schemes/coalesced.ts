import { Buckets } from '../buckets.ts'
import type { Scheme } from '../world.ts'

/** How long a node collects the requests of one command: a tick of its event loop. */
const TICK = 1_000

/** The requests of one event-loop tick of a node, of whatever keys, are one command. */
export const coalesced: Scheme = (world) => {
  const { times, nodeOf, keyOf, nodes, keys } = world.traffic
  const buckets = new Buckets(keys, world.limit)
  /** The batch that a node collects, as a list: its last request, and for each request the one before it, plus one. */
  const last = new Uint32Array(nodes)
  const before = new Uint32Array(times.length)
  const each = (batch: number, run: (request: number) => void): void => {
    for (let at = batch + 1; at > 0; at = before[at - 1] as number) run(at - 1)
  }
  const reply = world.toNode((batch, now) => each(batch, (request) => world.answer(request, now)))
  const ask = world.toStore((batch, now) => {
    each(batch, (request) => world.decide(request, buckets.take(keyOf[request] as number, 1, now), now))
    reply(batch, nodeOf[batch] as number, now)
  })
  const flush = world.after(TICK, (node, now) => {
    ask((last[node] as number) - 1, node, now)
    last[node] = 0
  })
  return (request, now) => {
    const node = nodeOf[request] as number
    if (last[node] === 0) flush(node, now)
    before[request] = last[node] as number
    last[node] = request + 1
  }
}
