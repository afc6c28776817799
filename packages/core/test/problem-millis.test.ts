import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inMillis } from '../src/http/headers/problem.ts'

// The text of a wait in a problem document: that of String, which takes several times as long.

const year = 366 * 86_400e6

test('the wait of a problem document is the shortest text of its milliseconds', () => {
  const micros = fc.oneof(fc.integer({ min: 0, max: 5_000_000 }), fc.integer({ min: 0, max: year }))
  fc.assert(fc.property(micros, (each) => inMillis(each / 1000) === String(each / 1000)))
})

test('so is a wait that is no whole number of microseconds', () => {
  const wait = fc.double({ min: 0, noNaN: true })
  fc.assert(fc.property(wait, (each) => inMillis(each) === String(each)))
})

test.each([0, 0.001, 0.01, 0.1, 0.12, 0.123, 1, 999.999, 1_000.05, 59_999.9, 1e9, 1e9 + 0.001, 1e21])('%d', (each) => {
  expect(inMillis(each)).toBe(String(each))
})
