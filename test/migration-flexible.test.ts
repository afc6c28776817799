import { type Decision, type Duration, fixedWindow, perSecond, rateLimiter } from '@spillway/express'
import { memoryStore } from '@spillway/memory'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

// What docs/migration/rate-limiter-flexible.md says of blocks: theirs and ours get the same requests.

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

const DURATION_S = 900

/** The limiter of the page. */
function blocking(block: Duration = '15m'): (key: string) => Promise<Decision> {
  const blocking = rateLimiter({
    quota: fixedWindow({ limit: 5, window: '1s', align: 'first' }),
    blocks: true,
    store: memoryStore(),
  })
  return async (key) => {
    const decision = await blocking.consume(key)
    if (!decision.allowed && !decision.violated.includes('default (blocked)')) await blocking.block(key, block)
    return decision
  }
}

test('a block lasts as long as blockDuration, and only of clients that were over', async () => {
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

test('the rest of a window denies after a shorter block, which ends the window of theirs', async () => {
  const theirs = new RateLimiterMemory({ points: 5, duration: 1, blockDuration: 0.5 })
  const ours = blocking('500ms')
  const consume = async () => [
    await theirs.consume('alice').then(
      () => true,
      () => false,
    ),
    (await ours('alice')).allowed,
  ]
  for (let i = 0; i < 5; i++) expect(await consume()).toEqual([true, true])
  expect(await consume()).toEqual([false, false])
  vi.advanceTimersByTime(500)
  expect(await consume()).toEqual([true, false])
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
