import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'

// What a decision and a request allocate, in bytes: nearly the same on every machine, unlike their time. Reproduces a bug: the
// clock's reading was boxed, and every number that was computed from it.

const app = inject('app')

/** The calls that are measured. Their bytes fit into the new space, so that nothing is collected meanwhile. */
const CALLS = 20_000
// One thread compiles at once, not some time later.
const FLAGS = ['--min-semi-space-size=128', '--max-semi-space-size=128', '--single-threaded']

/** The bytes that a call allocates. `start` defines `call`, which returns an object. */
function bytesOf(start: string): number {
  const program = `
${start}
let last
const run = () => {
  for (let i = 0; i < ${CALLS}; i++) last = call()
}
for (let i = 0; i < 20; i++) run()
globalThis.gc()
const before = process.memoryUsage().heapUsed
run()
console.log((process.memoryUsage().heapUsed - before) / ${CALLS})
`
  writeFileSync(join(app, 'allocations.mjs'), program)
  return Number(execFileSync(process.execPath, [...FLAGS, '--expose-gc', 'allocations.mjs'], { cwd: app }))
}

/** What the measurement itself allocates, shared by all calls: less than the box of a number and a half. */
const SLACK = 24

/** A decision has 10 fields: 104 bytes. Numbers that it keeps are boxed: 16 bytes each. */
const QUOTAS: readonly [quota: string, boxes: number][] = [
  ["tokenBucket({ limit: 1e6, per: '1s', burst: 5e6 })", 3],
  ["fixedWindow({ limit: 1e9, window: '1h' })", 4],
  ["slidingWindow({ limit: 1e9, window: '1h' })", 3],
]

test.each(QUOTAS)('a decision in memory by %s allocates nothing but itself', (quota, boxes) => {
  const bytes = bytesOf(`
import { fixedWindow, rateLimiter, slidingWindow, tokenBucket } from '@spillway/memory'
const limiter = rateLimiter({ quota: ${quota} })
const call = () => limiter.consumeSync('user:1')
`)
  expect(bytes).toBeGreaterThan(100)
  expect(bytes).toBeLessThan(104 + boxes * 16 + SLACK)
})

/** What a request allocates, 2,130 bytes, and a tenth more. */
const PER_REQUEST = 2_350

test('a request allocates no more than it may', () => {
  const bytes = bytesOf(`
import { httpGuard } from '@spillway/core/http'
import { memoryStore, tokenBucket } from '@spillway/memory'
const none = () => undefined
const reader = { address: ({ ip }) => ip, peer: ({ ip }) => ip, method: () => 'GET', path: () => '/', header: none, query: none, hidesBody: () => false, identity: (request) => request, onClientClosed: none }
const quota = tokenBucket({ limit: 1e6, per: '1s', burst: 1e9 })
const guard = httpGuard({ quota, headers: 'legacy-delta' }, reader, memoryStore)
const call = () => guard({ ip: '203.0.113.7' })
`)
  expect(bytes).toBeGreaterThan(1_000)
  expect(bytes).toBeLessThan(PER_REQUEST)
})
