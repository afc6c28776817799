// A million clients and ten million decisions in one process: `npm run soak`. Checks that memory is constant, and that no
// handles are left. Exits with 1 if not.

import { perMinute } from '@spillway/core'
import { memoryStore, rateLimiter } from '@spillway/memory'

const CLIENTS = 1_000_000
const ROUNDS = 10
/** V8 doubles a map that is half full of what was deleted: tables may be twice as large in one round as in another. */
const MOST_BYTES_A_KEY = 160

const leftBehind = (): number =>
  process.getActiveResourcesInfo().length +
  process.eventNames().reduce((sum, event) => sum + process.listenerCount(event), 0)

const before = leftBehind()
const store = memoryStore({ maxKeys: CLIENTS })
const limiter = rateLimiter({ quota: perMinute(100), store })
let most = 0
let longestMs = 0

for (let round = 0; round < ROUNDS; round++) {
  for (let client = 0; client < CLIENTS; client++) {
    const start = performance.now()
    // Half of the clients are new in each round: five and a half million in all, for whom others have to make room.
    limiter.consumeSync(`client ${client + (round * CLIENTS) / 2}`)
    longestMs = Math.max(longestMs, performance.now() - start)
  }
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  const bytes = Math.round((heapUsed + arrayBuffers) / CLIENTS)
  most = Math.max(most, bytes)
  console.log(`round ${round + 1}: ${bytes} bytes a key, ${store.size} keys, ${store.evictions} forgotten so far`)
}

const left = leftBehind() - before
console.log(`longest decision ${longestMs.toFixed(1)} ms, collections of garbage included`)
console.log(`timers, handles and listeners left: ${left}`)
const failures = [
  ...(globalThis.gc ? [] : ['run it with --expose-gc']),
  ...(most > MOST_BYTES_A_KEY ? [`memory has grown to ${most} bytes a key`] : []),
  ...(left > 0 ? [`${left} timers, handles or listeners are left`] : []),
  ...(store.size > CLIENTS ? [`${store.size} keys are kept of ${CLIENTS}`] : []),
]
for (const failure of failures) console.log(`FAILED: ${failure}`)
process.exitCode = failures.length > 0 ? 1 : 0
