import 'reflect-metadata'
import { ThrottlerStorageService } from '@nestjs/throttler'
import { memoryStore, rateLimiter, slidingLog } from '@spillway/memory'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

// What docs/migration/nestjs-throttler.md says of ttl and blockDuration: theirs and ours get the same requests.

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

const [LIMIT, TTL, EVERY] = [5, 60_000, 5_000]

/** Whether each of some requests is allowed, by theirs and by the log of the page. */
async function answersFor(blockDuration: number): Promise<readonly (readonly boolean[])[]> {
  const theirs = new ThrottlerStorageService()
  const ours = rateLimiter({ quota: slidingLog({ limit: LIMIT, window: TTL }), store: memoryStore() })
  const answers: [boolean[], boolean[]] = [[], []]
  for (let i = 0; i < 40; i++) {
    const { isBlocked } = await theirs.increment('alice', TTL, LIMIT, blockDuration, 'default')
    answers[0].push(!isBlocked)
    answers[1].push((await ours.consume('alice')).allowed)
    vi.advanceTimersByTime(EVERY)
  }
  theirs.onApplicationShutdown()
  return answers
}

test('a log counts as theirs if blockDuration is 0', async () => {
  const [theirs, ours] = await answersFor(0)
  expect(ours).toEqual(theirs)
  expect(new Set(theirs)).toEqual(new Set([true, false]))
})

// The page said that a log counts as theirs, without this.
test('by default, theirs also blocks for a ttl after the first request that is denied', async () => {
  const [theirs, ours] = await answersFor(TTL)
  const firstDenied = LIMIT * EVERY
  const backAt = (answers: readonly boolean[] | undefined): number => (answers ?? []).indexOf(true, LIMIT) * EVERY
  expect(backAt(theirs)).toBe(firstDenied + TTL)
  expect(backAt(ours)).toBe(TTL)
})
