/** A distribution of requests over clients: a sequence of keys that is too long for branch prediction to learn. */
export interface Workload {
  readonly name: string
  readonly keys: readonly string[]
  /** The number of keys that a store must hold. */
  readonly distinct: number
}

const LENGTH = 200_000

/** A seeded random number generator between 0 and 1 (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The IPv4 address of a client. */
export const addressOf = (client: number): string => `10.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`

function workload(name: string, distinct: number, length: number, pick: (random: number) => number): Workload {
  const random = seeded(1)
  const addresses = new Map<number, string>()
  const keys = Array.from({ length }, () => {
    const client = pick(random())
    const known = addresses.get(client) ?? addressOf(client)
    addresses.set(client, known)
    return known
  })
  return { name, keys, distinct }
}

/** One busy client; ten thousand equal clients; and a million, of whom the k-th sends about 1/k as often as the first. */
export const workloads = {
  hot: () => workload('one hot key', 1, LENGTH, () => 0),
  many: () => workload('10,000 keys', 10_000, LENGTH, (random) => Math.floor(random * 10_000)),
  zipf: () => workload('1,000,000 keys, Zipf', 1_000_000, 5 * LENGTH, (random) => Math.floor(1_000_000 ** random) - 1),
} satisfies Record<string, () => Workload>
