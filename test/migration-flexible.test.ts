import { type Decision, fixedWindow, perSecond, rateLimiter } from '@spillway/express'
import { memoryStore } from '@spillway/memory'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

// What docs/migration/rate-limiter-flexible.md says of blocks: theirs and ours get the same requests.

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

const DURATION_S = 900

/** The limiter of the page. */
function blocking(): (key: string) => Promise<Decision> {
  const limiter = rateLimiter({ quota: fixedWindow({ limit: 5, window: '1s', align: 'first' }), store: memoryStore() })
  const quota = fixedWindow({ limit: 1, window: '15m', align: 'first' })
  const blocks = rateLimiter({ name: 'blocks', quota, store: memoryStore() })
  return async (key) => {
    const block = await blocks.peek(key)
    if (!block.allowed) return block
    const decision = await limiter.consume(key)
    if (!decision.allowed) await blocks.consume(key)
    return decision
  }
}

test('a second limiter blocks as long as blockDuration, and only clients that were over', async () => {
  const theirs = new RateLimiterMemory({ points: 5, duration: 1, blockDuration: DURATION_S })
  const ours = blocking()
  const allowed = async (key: string) =>
    Promise.all([
      theirs.consume(key).then(
        () => true,
        () => false,
      ),
      ours(key).then((decision) => decision.allowed),
    ])
  const story: readonly (readonly [afterMs: number, key: string])[] = [
    ...Array.from({ length: 6 }, () => [0, 'over'] as const),
    [500_000, 'over'],
    ...Array.from({ length: 5 }, () => [2_000, 'steady'] as const),
    [389_999, 'over'],
    [1, 'over'],
  ]
  const answers: boolean[] = []
  for (const [afterMs, key] of story) {
    vi.advanceTimersByTime(afterMs)
    const [one, two] = await allowed(key)
    expect(two, `${key} at ${Date.now()} ms`).toBe(one)
    answers.push(two)
  }
  expect(answers).toEqual([...Array(5).fill(true), false, false, ...Array(5).fill(true), false, true])
})

test('a charge blocks in a bucket until it is repaid, and a window forgets it', async () => {
  const bucket = rateLimiter({ quota: perSecond(5), store: memoryStore() })
  await bucket.charge('alice', 1_000)
  expect((await bucket.peek('alice')).retryAfterMs).toBe(199_200)
  const window = rateLimiter({ quota: fixedWindow({ limit: 5, window: '1s', align: 'first' }), store: memoryStore() })
  await window.charge('alice', 1_000)
  vi.advanceTimersByTime(1_000)
  expect((await window.consume('alice')).allowed).toBe(true)
})
