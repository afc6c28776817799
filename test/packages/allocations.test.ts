import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'

// What a decision in memory allocates, in bytes: the same on every machine, unlike its time. Reproduces a bug: the clock's
// reading was boxed, and every number that was computed from it.

const app = inject('app')

const CALLS = 50_000

/** A decision has 10 fields: 104 bytes. Numbers that it keeps, and the sum, are boxed: 16 bytes each. */
const QUOTAS: readonly [quota: string, boxes: number][] = [
  ["tokenBucket({ limit: 1e6, per: '1s', burst: 5e6 })", 4],
  ["fixedWindow({ limit: 1e9, window: '1h' })", 5],
  ["slidingWindow({ limit: 1e9, window: '1h' })", 4],
]

const programOf = (quota: string): string => `
import { fixedWindow, rateLimiter, slidingWindow, tokenBucket } from '@spillway/memory'
const limiter = rateLimiter({ quota: ${quota} })
let sum = 0
let last
const run = () => {
  for (let i = 0; i < ${CALLS}; i++) {
    last = limiter.consumeSync('user:1')
    sum += last.remaining
  }
}
for (let i = 0; i < 10; i++) run()
const before = process.memoryUsage().heapUsed
run()
console.log((process.memoryUsage().heapUsed - before) / ${CALLS})
`

// The new space holds all of it, so that nothing is collected meanwhile. One thread compiles at once, not some time later.
const FLAGS = ['--min-semi-space-size=128', '--max-semi-space-size=128', '--single-threaded']

test.each(QUOTAS)('a decision in memory by %s allocates nothing but itself', (quota, boxes) => {
  writeFileSync(join(app, 'allocations.mjs'), programOf(quota))
  const printed = execFileSync(process.execPath, [...FLAGS, 'allocations.mjs'], { cwd: app, encoding: 'utf8' })
  expect(Number(printed)).toBeGreaterThan(0)
  expect(Number(printed)).toBeLessThan(104 + boxes * 16 + 8)
})
