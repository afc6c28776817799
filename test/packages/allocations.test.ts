import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'

// What a decision in memory allocates, in bytes: the same on every machine, unlike its time. Reproduces a bug: the clock's
// reading was boxed, and every number that was computed from it.

const app = inject('app')

/** A decision has 10 fields, 3 of which hold numbers that are boxed: 104 + 3 × 16 bytes. The sum is boxed, too. */
const BYTES = 104 + 3 * 16 + 16

const CALLS = 100_000

const PROGRAM = `
import { rateLimiter, tokenBucket } from '@spillway/memory'
const limiter = rateLimiter({ quota: tokenBucket({ limit: 1e6, per: '1s', burst: 5e6 }) })
let sum = 0
let last
const run = () => {
  for (let i = 0; i < ${CALLS}; i++) {
    last = limiter.consumeSync('user:1')
    sum += last.remaining
  }
}
for (let i = 0; i < 5; i++) run()
const before = process.memoryUsage().heapUsed
run()
console.log((process.memoryUsage().heapUsed - before) / ${CALLS})
`

// The new space holds all of it, so that nothing is collected meanwhile. One thread compiles at once, not some time later.
const FLAGS = ['--min-semi-space-size=128', '--max-semi-space-size=128', '--single-threaded']

test('a decision in memory allocates nothing but itself', () => {
  writeFileSync(join(app, 'allocations.mjs'), PROGRAM)
  const printed = execFileSync(process.execPath, [...FLAGS, 'allocations.mjs'], { cwd: app, encoding: 'utf8' })
  expect(Number(printed)).toBeGreaterThan(0)
  expect(Number(printed)).toBeLessThan(BYTES + 8)
})
