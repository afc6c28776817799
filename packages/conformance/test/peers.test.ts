import { readFileSync } from 'node:fs'
import { tokenBucket } from '@spillway/core'
import { expect, test } from 'vitest'

// Checks the table in docs/internals.md: how much too early the last of 10^9 units refills, in time and in units.

const UNITS = 1_000_000_000n
const NANOS = 1_000_000_000n
const rates = [
  [9_999, 1],
  [30_000, 1],
  [7, 60],
] as const

const docs = readFileSync(new URL('../../../docs/internals.md', import.meta.url), 'utf8')
const rowOf = (name: string): readonly string[] =>
  (docs.split('\n').find((line) => line.startsWith(`| ${name}`)) ?? '')
    .split('|')
    .slice(3, 6)
    .map((cell) => cell.trim())

test('an interval truncated to whole nanoseconds has the error that the table states', () => {
  const cells = rates.map(([limit, seconds]) => {
    const exact = UNITS * BigInt(seconds) * NANOS
    const interval = (BigInt(seconds) * NANOS) / BigInt(limit)
    const units = Number(exact - UNITS * interval * BigInt(limit)) / Number(BigInt(seconds) * NANOS)
    return `${units.toLocaleString('en')} units`
  })
  expect([rowOf('governor'), rowOf('redis-cell')]).toEqual([cells, cells])
})

test('a bucket of this library has no error', () => {
  const cells = rates.map(([limit, seconds]) => {
    const { ticksPerUnit: unit, scale } = tokenBucket({ limit, per: `${seconds}s` })
    return `${UNITS * (BigInt(unit) * BigInt(limit) - BigInt(scale) * BigInt(seconds) * 1_000_000n)}`
  })
  expect(rowOf('Spillway')).toEqual(cells)
})

// It keeps tokens as a floating-point number. A wait is cut off to nanoseconds, and what was cut off stays in the tokens,
// so that only rounding adds up. Each wait rounds seven times, by 2^-53 at most, which limits the error of any number of waits;
// a simulation of its arithmetic stays below that.
test('a floating-point number of tokens has less than the error that the table states', () => {
  const cells = rates.map(([limit, seconds]) => {
    const rate = limit / seconds
    const waits = 200_000
    let [tokens, elapsed] = [0, 0n]
    for (let i = 0; i < waits; i++) {
      tokens -= 1
      const wait = Math.trunc((-tokens / rate) * 1e9)
      elapsed += BigInt(wait)
      tokens += (Math.floor(wait / 1e9) + (wait % 1e9) / 1e9) * rate
    }
    const period = BigInt(seconds) * NANOS
    const exact = elapsed * BigInt(limit) - BigInt(waits) * period
    const most = (units: number): number => units * 7 * 2 ** -53
    expect(Math.abs(tokens - Number(exact) / Number(period))).toBeLessThan(most(waits))
    return `< 10^${Math.ceil(Math.log10(most(Number(UNITS))))} units`
  })
  expect(rowOf('x/time/rate')).toEqual(cells)
})
