import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { whenExpired } from '../src/internal.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const afterIo = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** When the deadline of a call of 20 ms is reported that began so long ago, in milliseconds from now. */
async function reportedAfter(beganMs: number, mostMs: number): Promise<number | undefined> {
  const startMs = performance.now()
  let atMs: number | undefined
  whenExpired({ atMs: startMs - beganMs + 20, spanMs: 20 }, () => {
    atMs = performance.now() - startMs
  })
  while (atMs === undefined && performance.now() - startMs < mostMs) {
    await vi.advanceTimersByTimeAsync(1)
    await afterIo()
  }
  return atMs
}

test.each([
  [0, 20],
  [15, 5],
])('a call that began %d ms ago expires after its deadline', async (beganMs, leftMs) => {
  expect(await reportedAfter(beganMs, 50)).toBe(leftMs)
})

// Seed 654764820 of the simulator: the time since the deadline counted as one in which the event loop was blocked, so that a
// second store was awaited for as long again.
test('a call whose deadline has passed expires at once, however long ago that was', async () => {
  expect(await reportedAfter(140, 500)).toBeLessThanOrEqual(3)
})

test('a timer that is late itself extends the deadline by its lateness', async () => {
  const startMs = performance.now()
  let atMs: number | undefined
  const deadline = { atMs: startMs + 20, spanMs: 20 }
  whenExpired(deadline, () => {
    atMs = performance.now() - startMs
  })
  // The event loop is blocked for 60 ms.
  vi.setSystemTime(0)
  vi.advanceTimersByTime(19)
  const now = vi.spyOn(performance, 'now').mockReturnValue(startMs + 60)
  vi.advanceTimersByTime(1)
  expect(deadline.atMs - startMs).toBe(100)
  now.mockRestore()
  await vi.advanceTimersByTimeAsync(40)
  await afterIo()
  expect(atMs).toBe(60)
})
