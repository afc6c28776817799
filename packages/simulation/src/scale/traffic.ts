import { randomOf } from '../runtime/random.ts'

/** How large a simulation is. */
export interface Size {
  readonly nodes: number
  readonly keys: number
  /** Requests a second of all nodes together. */
  readonly rate: number
  readonly seconds: number
  readonly seed: number
}

/** Regions that are equally busy; a node is in region `node % REGIONS`. The store is in region 0. */
export const REGIONS = 3

/** The same requests for every scheme, in the order of their arrival. */
export interface Traffic extends Size {
  /** When each arrives, in microseconds. */
  readonly times: Float64Array
  readonly nodeOf: Uint16Array
  readonly keyOf: Uint32Array
  /** A number for each pair of a node and a key that occurs, and the pair's node and key. */
  readonly pairOf: Uint32Array
  readonly pairNode: Uint16Array
  readonly pairKey: Uint32Array
}

/** Requests at random moments, at random nodes, for keys whose popularity is 1 / rank (Zipf). */
export function trafficOf(size: Size): Traffic {
  const { nodes, keys, rate, seconds, seed } = size
  const random = randomOf(seed)
  const count = rate * seconds
  const times = new Float64Array(count)
  const nodeOf = new Uint16Array(count)
  const keyOf = new Uint32Array(count)
  const popularity = new Float64Array(keys)
  let sum = 0
  for (let key = 0; key < keys; key++) popularity[key] = sum += 1 / (key + 1)
  let now = 0
  for (let i = 0; i < count; i++) {
    times[i] = now += random.spread(1e6 / rate)
    nodeOf[i] = random.below(nodes)
    keyOf[i] = rankAt(popularity, random.float() * sum)
  }
  return { ...size, times, nodeOf, keyOf, ...pairsOf(nodeOf, keyOf, keys) }
}

/** The first index whose value is above `at`. */
function rankAt(sums: Float64Array, at: number): number {
  let [low, high] = [0, sums.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sums[middle] as number) > at) high = middle
    else low = middle + 1
  }
  return low
}

/** Numbers the pairs of nodes and keys with a hash table of numbers: a `Map` of millions of them is too large. */
export function pairsOf(
  nodeOf: Uint16Array,
  keyOf: Uint32Array,
  keys: number,
): Pick<Traffic, 'pairOf' | 'pairNode' | 'pairKey'> {
  const places = 2 ** Math.ceil(Math.log2(nodeOf.length * 2))
  const slots = new Int32Array(places).fill(-1)
  const pairOf = new Uint32Array(nodeOf.length)
  const pairNode = new Uint16Array(nodeOf.length)
  const pairKey = new Uint32Array(nodeOf.length)
  let pairs = 0
  for (let i = 0; i < nodeOf.length; i++) {
    const [node, key] = [nodeOf[i] as number, keyOf[i] as number]
    let at = Math.imul(node * keys + key, 0x9e3779b1) & (places - 1)
    for (;;) {
      const pair = slots[at] as number
      if (pair === -1) break
      if (pairNode[pair] === node && pairKey[pair] === key) break
      at = (at + 1) & (places - 1)
    }
    if (slots[at] === -1) {
      pairNode[pairs] = node
      pairKey[pairs] = key
      slots[at] = pairs++
    }
    pairOf[i] = slots[at] as number
  }
  return { pairOf, pairNode: pairNode.slice(0, pairs), pairKey: pairKey.slice(0, pairs) }
}
