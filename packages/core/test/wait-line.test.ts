import { describe, expect, test, vi } from 'vitest'
import { SortedList } from '../src/common/sorted-list.ts'
import {
  fixedWindow,
  type Quota,
  RateLimitedError,
  rateLimiter,
  type Store,
  slidingLog,
  slidingWindow,
} from '../src/index.ts'
import { Caller } from '../src/limiter/caller.ts'
import { fakeTimeStore, useFakeTime } from './fake-time.ts'

useFakeTime()

/** A store that counts its calls, and answers in a later microtask. */
function countingStore() {
  const model = fakeTimeStore()
  let calls = 0
  const store: Store = {
    take: async (ops, at) => {
      calls += 1
      return model.takeSync(ops, at)
    },
    delete: model.delete,
  }
  return { store, calls: () => calls }
}

const windows: readonly (readonly [string, Quota])[] = [
  ['a fixed window', fixedWindow({ limit: 10, window: '200ms' })],
  ['a sliding window', slidingWindow({ limit: 10, window: '200ms' })],
  ['a sliding log', slidingLog({ limit: 10, window: '200ms' })],
]

// It removed all ahead of it from the line, who then called the store whenever a window ended: 10,498 calls in two seconds,
// where 201 are needed, and it was served before hundreds.
describe.each(windows)('callers in line whose maxWait ends, of %s', (_, quota) => {
  const run = async (impatient: number) => {
    const { store, calls } = countingStore()
    const limiter = rateLimiter({ quota, store })
    const served: number[] = []
    const denied: number[] = []
    const waiting = Array.from({ length: 300 }, (_, i) => limiter.wait('api').then(() => void served.push(i)))
    await vi.advanceTimersByTimeAsync(400)
    const call = () =>
      limiter.wait('api', { maxWait: '450ms' }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(RateLimitedError)
        expect((error as RateLimitedError).decision).toMatchObject({ allowed: false, policy: 'default' })
        expect((error as RateLimitedError).decision.retryAfterMs).toBeGreaterThan(0)
        denied.push(Date.now())
      })
    waiting.push(...Array.from({ length: impatient }, async () => void (await call())))
    await vi.advanceTimersByTimeAsync(400)
    const before = calls()
    await vi.advanceTimersByTimeAsync(2_000)
    const used = calls() - before
    await vi.runAllTimersAsync()
    await Promise.all(waiting)
    return { served, denied, used }
  }

  test('are denied then, and leave the line as it is', async () => {
    const [plain, mixed] = [await run(0), await run(3)]
    expect(mixed.served).toEqual(plain.served)
    expect(mixed.served).toEqual(Array.from({ length: 300 }, (_, i) => i))
    expect(mixed.denied).toHaveLength(3)
    expect(Math.max(...mixed.denied) - Math.min(...mixed.denied)).toBe(0)
    // One each, to report when the units are available.
    expect(mixed.used - plain.used).toBeLessThanOrEqual(3)
  })
})

describe('a line', () => {
  const joined = (line: SortedList<Caller>) => {
    const caller = new Caller([], Infinity, () => () => {}, line)
    caller.join()
    return caller
  }

  // Workers stop a request whose client has left: no callback of it does anything.
  test('is passed over up to the first who answers', async () => {
    const line = new SortedList<Caller>()
    const lost = Array.from({ length: 50 }, () => joined(line))
    for (const place of lost) place.onCall(() => {})
    lost[0]?.expect(100)
    const alive = joined(line)
    let calls = 0
    const stop = alive.onCall(() => {
      calls += 1
      queueMicrotask(stop)
    })
    const last = joined(line)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await last.passLost()).toBe(false)
    expect(lost[0]?.isFirst()).toBe(true)
    await vi.advanceTimersByTimeAsync(101)
    const passed = last.passLost()
    await vi.runAllTimersAsync()
    expect([await passed, calls, alive.isFirst(), last.isFirst()]).toEqual([false, 1, true, false])
    for (const place of [...lost, alive, last]) place.leaveLine()
  })

  test('has one in front again who only was late', async () => {
    const line = new SortedList<Caller>()
    const late = joined(line)
    late.expect(0)
    const [next, last] = [joined(line), joined(line)]
    await vi.advanceTimersByTimeAsync(2_000)
    const passed = next.passLost()
    await vi.runAllTimersAsync()
    expect([await passed, next.isFirst()]).toEqual([true, true])
    expect([late.isFirst(), next.isFirst(), last.isFirst()]).toEqual([true, false, false])
    late.leaveLine()
    expect(next.isFirst()).toBe(true)
    next.leaveLine()
    last.leaveLine()
  })
})
