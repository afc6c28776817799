import assert from 'node:assert/strict'
import {
  calendarWindow,
  type Decision,
  fixedWindow,
  leakyBucket,
  type Micros,
  perMinute,
  type Quota,
  type Store,
  slidingLog,
  slidingWindow,
  type Taken,
  tokenBucket,
} from '@spillway/core'
import { decide, stepFor, type Verb } from '@spillway/core/internal'
import { START } from './clock.ts'
import type { TestFunction } from './runner.ts'

/** Each algorithm of plans, by its limit. */
const quotasOf: Readonly<Record<string, (limit: number) => Quota>> = {
  'a token bucket': (limit) => perMinute(limit),
  'a bucket of parts of a microsecond': (limit) => tokenBucket({ limit, per: '59999ms' }),
  'a bucket that starts low': (limit) => tokenBucket({ limit, per: '1m', burst: 10, initial: 5, overdraft: 5 }),
  'a leaky bucket': (limit) => leakyBucket({ limit, per: '1m', queue: 9 }),
  'an interval refill': (limit) => tokenBucket({ limit, per: '1m', refill: '1m' }),
  'a fixed window': (limit) => fixedWindow({ limit, window: '1m' }),
  'a fixed window from the first request': (limit) => fixedWindow({ limit, window: '1m', align: 'first' }),
  'a calendar window': (limit) => calendarWindow({ limit, unit: 'month' }),
  'a sliding window': (limit) => slidingWindow({ limit, window: '1m' }),
  'a sliding log': (limit) => slidingLog({ limit, window: '1m' }),
}

/** Tests quotas of 0 units, as of a plan that is suspended. */
export function testNoUnits(test: TestFunction, makeStore: () => Store | Promise<Store>): void {
  for (const [name, quotaOf] of Object.entries(quotasOf)) {
    test(`a limit of 0 of ${name} denies all, and the count is kept for a later limit`, async () => {
      const store = await makeStore()
      const ask = async (
        quota: Quota,
        key: string,
        at: Micros,
        verb: Verb = 'consume',
        cost = 1,
      ): Promise<Decision> => {
        const step = stepFor(quota, verb, cost, verb === 'consume' ? { maxWaitMicros: 60_000_000 } : {})
        const [taken] = await store.take([{ policy: 'p', key, step }], at)
        return decide('p', quota, cost, step, taken as Taken)
      }
      const none = quotaOf(0)
      for (const cost of [1, 7, 1_000_000])
        for (const verb of ['consume', 'peek'] as const) {
          const { allowed, limit, remaining, retryAfterMs } = await ask(none, 'new', START + 60_000_000, verb, cost)
          assert.deepEqual([allowed, limit, remaining, retryAfterMs], [false, 0, 0, Infinity])
        }
      assert.equal(await store.delete([{ policy: 'p', key: 'new' }]), 0)

      const ten = quotaOf(10)
      for (const key of ['suspended', 'other']) await ask(ten, key, START, 'consume', 3)
      await ask(none, 'suspended', START)
      await ask(none, 'suspended', START, 'charge', 4)
      await ask(none, 'suspended', START, 'refund', 4)
      assert.deepEqual(await ask(ten, 'suspended', START + 1_000), await ask(ten, 'other', START + 1_000))
    })
  }
}
