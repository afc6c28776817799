import type { Scheme } from '../world.ts'

/**
 * Asynchronous replay, as published: a node decides from its own counts of a sliding window, and sends what it admits to
 * the store afterwards, which answers with the count of all nodes. A window that a node has not seen is read first. After a
 * denial, a node reads the store's counts before each decision, for a window.
 */
export const replay: Scheme = (world) => {
  const { nodeOf, keyOf, pairOf, pairKey, keys, times } = world.traffic
  const { units, windowMicros } = world.limit
  const windows = Math.ceil(((times.at(-1) ?? 0) + 1) / windowMicros) + 3
  const origin = new Uint32Array(keys * windows)
  /** What each node believes of the window before the current one, and of that: by the parity of the window. */
  const seen = new Uint32Array(pairKey.length * 2)
  const windowOf = new Int32Array(pairKey.length).fill(-2)
  const strictUntil = new Float64Array(pairKey.length)
  const current = (now: number): number => Math.floor(now / windowMicros)

  const turn = (pair: number, window: number): void => {
    if (window > (windowOf[pair] as number) + 1) seen[2 * pair + ((window + 1) & 1)] = 0
    if (window > (windowOf[pair] as number)) seen[2 * pair + (window & 1)] = 0
    windowOf[pair] = window
  }
  /** The store's counts are at least those that a node knows. */
  const merge = (pair: number, window: number): void => {
    for (const each of [window, window - 1]) {
      const at = 2 * pair + (each & 1)
      const count = each < 0 ? 0 : (origin[(pairKey[pair] as number) * windows + each] as number)
      seen[at] = Math.max(seen[at] as number, count)
    }
  }
  const decide = (request: number, now: number): void => {
    const [pair, window] = [pairOf[request] as number, current(now)]
    const passed = now / windowMicros - window
    const [at, before] = [2 * pair + (window & 1), 2 * pair + ((window + 1) & 1)]
    const used = (seen[at] as number) + (seen[before] as number) * (1 - passed)
    const allowed = used + 1 <= units
    if (allowed) {
      seen[at] = (seen[at] as number) + 1
      send(request, nodeOf[request] as number, now)
    } else strictUntil[pair] = now + windowMicros
    world.decide(request, allowed, now)
    world.answer(request, now)
  }

  const sent = world.toNode((request, now) => {
    const pair = pairOf[request] as number
    if (windowOf[pair] === current(now)) merge(pair, current(now))
  })
  const send = world.toStore((request, now) => {
    const at = (keyOf[request] as number) * windows + current(now)
    origin[at] = (origin[at] as number) + 1
    sent(request, nodeOf[request] as number, now)
  })
  const read = world.toNode((request, now) => {
    const pair = pairOf[request] as number
    turn(pair, current(now))
    merge(pair, current(now))
    decide(request, now)
  })
  const fetch = world.toStore((request, now) => read(request, nodeOf[request] as number, now))

  return (request, now) => {
    const pair = pairOf[request] as number
    const isCold = windowOf[pair] !== current(now)
    if (isCold || now < (strictUntil[pair] as number)) return fetch(request, nodeOf[request] as number, now)
    decide(request, now)
  }
}
