import { expect, test } from 'vitest'
import { hash32 } from '../src/internal.ts'

// Computed with whole numbers. Durable Objects are named by it: another result would lose their counts.
const mixed = (text: string): number => {
  const at32 = (value: bigint): bigint => BigInt.asUintN(32, value)
  let hash = 0x811c9dc5n
  for (const code of Array.from(text, (each) => BigInt(each.charCodeAt(0)))) hash = at32((hash ^ code) * 0x01000193n)
  return Number(at32((hash ^ (hash >> 16n)) * 0x85ebca6bn))
}

test.each(['', 'a', '203.0.113.7', '2001:db8::/56', 'user ü', 'x'.repeat(1_000)])(
  'hashes %j by FNV-1a, mixed',
  (text) => {
    expect(hash32(text)).toBe(mixed(text))
  },
)
