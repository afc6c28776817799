import { expect, test } from 'vitest'
import { deal, HAND, handOf, QUEUES } from '../src/queue/hands.ts'

/** The binomial coefficient, exactly. */
function choose(n: number, k: number): bigint {
  let result = 1n
  for (let i = 0; i < k; i++) result = (result * BigInt(n - i)) / BigInt(i + 1)
  return result
}

/** The probability that a mouse's hand is among the queues that so many elephants fill, by counting all hands. */
function squeezed(elephants: number): number {
  // How many ways there are to deal the elephants so that they fill exactly so many queues.
  let ways = new Map<number, bigint>([[0, 1n]])
  for (let i = 0; i < elephants; i++) {
    const next = new Map<number, bigint>()
    for (const [filled, count] of ways) {
      for (let fresh = 0; fresh <= HAND; fresh++) {
        const hands = choose(QUEUES - filled, fresh) * choose(filled, HAND - fresh)
        next.set(filled + fresh, (next.get(filled + fresh) ?? 0n) + count * hands)
      }
    }
    ways = next
  }
  let within = 0n
  for (const [filled, count] of ways) within += count * choose(filled, HAND)
  const all = choose(QUEUES, HAND) ** BigInt(elephants + 1)
  return Number((within * 10n ** 30n) / all) / 1e30
}

test('every hand is dealt by equally many draws, counted on a small deck', () => {
  const counts = new Map<string, number>()
  for (let a = 0; a < 7; a++) {
    for (let b = 0; b < 6; b++) {
      for (let c = 0; c < 5; c++) {
        const hand = deal([a, b, c])
        expect(new Set(hand).size).toBe(3)
        const name = [...hand].sort().join()
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    }
  }
  expect(counts.size).toBe(Number(choose(7, 3)))
  expect(new Set(counts.values())).toEqual(new Set([6]))
})

// The probabilities that Kubernetes publishes for 128 queues and a hand of 8.
test('1 and 4 elephants squeeze a mouse in 7.0e-13 and 3.4e-6 of all cases, counted', () => {
  expect(squeezed(1).toPrecision(2)).toBe('7.0e-13')
  expect(squeezed(4).toPrecision(2)).toBe('0.0000034')
})

test('16 elephants squeeze a mouse in 0.027 of all cases, dealt by keys', () => {
  let squeezes = 0
  const trials = 20_000
  for (let trial = 0; trial < trials; trial++) {
    const filled = new Set<number>()
    for (let i = 0; i < 16; i++) for (const queue of handOf(`elephant-${trial}-${i}`, 7)) filled.add(queue)
    if (handOf(`mouse-${trial}`, 7).every((queue) => filled.has(queue))) squeezes += 1
  }
  const share = squeezes / trials
  expect(squeezed(16)).toBeCloseTo(0.027, 3)
  // Four standard deviations of 20,000 trials.
  expect(Math.abs(share - squeezed(16))).toBeLessThan(4 * Math.sqrt((0.027 * 0.973) / trials))
})

test('keys use all queues equally often, also those of numbers in a row, with any salt', () => {
  for (const salt of [0, 1, 0xffff_ffff]) {
    const uses = Array.from({ length: QUEUES }, () => 0)
    for (let i = 0; i < 16_000; i++) for (const queue of handOf(`${i}`, salt)) uses[queue] = (uses[queue] as number) + 1
    // 1,000 each: five standard deviations.
    expect(Math.min(...uses)).toBeGreaterThan(1_000 - 5 * Math.sqrt(1_000))
    expect(Math.max(...uses)).toBeLessThan(1_000 + 5 * Math.sqrt(1_000))
  }
})

test('the hand of a key depends on the salt, which clients do not know', () => {
  expect(handOf('ann', 1)).toEqual(handOf('ann', 1))
  expect(handOf('ann', 1)).not.toEqual(handOf('ann', 2))
})
