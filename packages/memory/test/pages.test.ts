import { fakeClock } from '@spillway/conformance'
import { fixedWindow, type Quota, slidingLog, slidingWindow, tokenBucket } from '@spillway/core'
import { expect, test, vi } from 'vitest'
import { memoryStore, rateLimiter } from '../src/index.ts'

/** More than two pages of 16,384 slots. */
const KEYS = 40_000
/** With room for so many keys, slots are packed. */
const ROOM = 200_000

/** The most numbers that one key copies between arrays outside of the heap, while 40,000 keys are added. */
function mostCopied(quota: Quota): number {
  let most = 0
  const prototype = Object.getPrototypeOf(Float64Array.prototype) as Float64Array
  const { set } = prototype
  const spy = vi.spyOn(prototype, 'set').mockImplementation(function (this: Float64Array, from, at) {
    most = Math.max(most, from.length)
    return set.call(this, from, at)
  })
  const limiter = rateLimiter({ quota, store: memoryStore({ maxKeys: ROOM, clock: fakeClock() }) })
  for (let i = 0; i < KEYS; i++) limiter.consumeSync(`key-${i}`)
  spy.mockRestore()
  return most
}

// Reproduces a bug: the time per unit of a window was in one array that doubled, so that the key after 524,288 others paused
// the program for 10 ms.
test.each<[what: string, quota: Quota]>([
  ['buckets', tokenBucket({ limit: 10, per: '1h' })],
  ['buckets with a remainder', tokenBucket({ limit: 7, per: '1s' })],
  ['buckets that refill at intervals', fixedWindow({ limit: 10, window: '1h' })],
  ['sliding windows', slidingWindow({ limit: 10, window: '1h' })],
  ['sliding logs', slidingLog({ limit: 10, window: '1h' })],
])('a new key copies no more than a page of %s', (_, quota) => {
  expect(mostCopied(quota)).toBeLessThanOrEqual(16_384)
})
