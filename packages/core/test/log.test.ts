import { expect, test } from 'vitest'
import { append, FIRST, HEAD, newLog } from '../src/algorithms/stored-log.ts'

// A log that is not compacted has 200,002 numbers then, and answers the same.
test('the log of a busy key stays short', () => {
  const limit = 10
  const log = newLog(0, 1)
  let longest = 0
  for (let now = 1; now < 100_000; now++) {
    const entries = (log.length - (log[FIRST] as number)) / 2
    const first = (log[FIRST] as number) + 2 * Math.max(entries - limit + 1, 0)
    append(log, first, Math.min(entries, limit - 1), now, 1)
    longest = Math.max(longest, log.length)
  }
  expect(log.slice(log[FIRST])).toEqual(Array.from({ length: limit }, (_, i) => [99_999 - limit + 1 + i, 1]).flat())
  // Twice the entries, or the entries and the 32 numbers that may be unused.
  expect(longest).toBeLessThanOrEqual(HEAD + 2 * limit + 34)
})
