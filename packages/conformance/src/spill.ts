import assert from 'node:assert/strict'
import {
  type Micros,
  perMinute,
  perSecond,
  type Quota,
  type RateLimiter,
  rateLimiter,
  type Store,
  slidingLog,
  slidingWindow,
} from '@spillway/core'
import fc from 'fast-check'
import { START } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import type { TestFunction } from './runner.ts'

/** Pairs of a quota and the quota that is drawn upon when it is empty. */
const pairs: readonly (readonly [Quota, Quota])[] = /* @__PURE__ */ made(() => [
  [perSecond(2), perMinute(3)],
  [slidingWindow({ limit: 2, window: '1s' }), perMinute(7)],
  [perMinute(7), slidingLog({ limit: 3, window: '10s' })],
])

/** A limiter whose second policy is drawn upon when the first is empty. `clock` is the store's time. */
function spilling(store: Store, [first, extra]: readonly [Quota, Quota], clock: () => Micros): RateLimiter {
  const slotOf = store.slotOf?.bind(store)
  const timed: Store = {
    take: (ops, _, deadline) => store.take(ops, clock(), deadline),
    delete: (keys) => store.delete(keys),
    ...(slotOf && { slotOf }),
  }
  const quotas = { first, extra }
  return rateLimiter({ quotas, spill: { first: 'extra' }, store: timed, deadline: '25s', onStoreError: 'throw' })
}

/** Tests that a store serves spill policies, which are checked in a second step. */
export function testSpill(test: TestFunction, makeStore: () => Store | Promise<Store>, numRuns: number): void {
  const calls = fc.array(
    fc.record({
      laterBy: fc.oneof(fc.nat(5_000_000), fc.integer({ min: -2_000_000, max: 60_000_000 })),
      key: fc.constantFrom('a', 'b'),
      cost: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 20 },
  )
  for (const [i, pair] of pairs.entries()) {
    test(`draws upon a spill policy as the model does, pair ${i + 1}`, async () => {
      await fc.assert(
        fc.asyncProperty(calls, async (history) => {
          let now = START
          const clock = (): Micros => now
          const [limiter, model] = [spilling(await makeStore(), pair, clock), spilling(modelStore(clock), pair, clock)]
          for (const { laterBy, key, cost } of history) {
            now += laterBy
            assert.deepEqual(await limiter.consume(key, cost), await model.consume(key, cost))
          }
        }),
        { numRuns },
      )
    })
  }

  test('allows exactly the units of both policies in 40 concurrent calls', async () => {
    const limiter = spilling(await makeStore(), [perMinute(10), perMinute(20)], () => START)
    const decisions = await Promise.all(Array.from({ length: 40 }, () => limiter.consume('hot')))
    const allowed = decisions.filter((decision) => decision.allowed)
    assert.deepEqual(
      ['first', 'extra'].map((name) => allowed.filter(({ policy }) => policy === name).length),
      [10, 20],
    )
  })
}
