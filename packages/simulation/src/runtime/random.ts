/** Random numbers, all determined by one seed. */
export interface Random {
  /** A number of 0 or more, below 1. */
  float(): number
  /** A whole number of 0 or more, below `bound`. */
  below(bound: number): number
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
  /** A number with an exponential distribution. */
  spread(mean: number): number
  /** Random numbers of their own: drawing from one does not change the other. */
  fork(): Random
}

/** The generator `mulberry32`: 32 bits of state suffice for a run, and it is fast. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const float = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number): number => Math.floor(float() * bound)
  return {
    float,
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (probability) => float() < probability,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
    spread: (mean) => -Math.log(1 - float()) * mean,
    fork: () => randomOf(below(2 ** 32)),
  }
}
