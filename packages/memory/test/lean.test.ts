import {
  type BucketQuota,
  fixedWindow,
  type Quota,
  type Step,
  slidingLog,
  slidingWindow,
  type Taken,
  tokenBucket,
} from '@spillway/core'
import { decide, stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { memoryStore } from '../src/index.ts'
import { memoryStore as leanStore, perMinute, perSecond } from '../src/lean.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const prepared = (store: ReturnType<typeof leanStore>, step: Step) =>
  (store.prepareSync as NonNullable<typeof store.prepareSync>)('api', step)

/** Quotas that share states: of one rate, and of one that was larger or smaller before. */
const families: readonly (readonly BucketQuota[])[] = [
  [perMinute(10), perMinute(10, { burst: 3 }), perMinute(10, { burst: 100 })],
  [perSecond(7), perSecond(7, { burst: 2 }), perSecond(7, { burst: 50 })],
  [perMinute(7), perMinute(7, { burst: 1 }), perMinute(7, { burst: 40 })],
]

test('a lean store decides as the other does, also when the clock steps back, or a quota had more units', () => {
  const act = fc.record({
    verb: fc.constantFrom('consume', 'consume', 'consume', 'peek'),
    key: fc.constantFrom('a', 'b'),
    quota: fc.nat(2),
    cost: fc.integer({ min: 1, max: 12 }),
    after: fc.oneof(fc.nat(20e6), fc.nat(3), fc.integer({ min: -90e6, max: -1 })),
    isAllowed: fc.constantFrom(undefined, undefined, true, false),
  })
  fc.assert(
    fc.property(fc.constantFrom(...families), fc.array(act, { maxLength: 40 }), (quotas, acts) => {
      const [lean, whole] = [leanStore(), memoryStore()]
      let now = 1.8e15
      for (const { verb, key, quota, cost, after, isAllowed } of acts) {
        now += after
        const policy = quotas[quota] as BucketQuota
        const step = stepFor(policy, verb, cost)
        const decided = (taken: Taken | undefined) => decide('api', policy, cost, step, taken as Taken)
        const [ours, theirs] = [lean, whole].map((store) => prepared(store, step))
        if (isAllowed === undefined) {
          expect(decided(ours?.take(key, now))).toEqual(decided(theirs?.take(key, now)))
        } else {
          // In a batch, which another policy may deny.
          const fits = ours?.look(key, now)
          expect(fits).toBe(theirs?.look(key, now))
          const allowed = fits === true && isAllowed
          expect(decided(ours?.commit(allowed))).toEqual(decided(theirs?.commit(allowed)))
        }
      }
    }),
  )
})

test('a lean store takes batches, deletes states, and is bounded', async () => {
  const store = leanStore()
  const ops = ['a', 'b'].map((policy) => ({ policy, key: 'ann', step: stepFor(perMinute(1), 'consume', 1) }))
  expect(store.takeSync(ops).map(({ allowed }) => allowed)).toEqual([true, true])
  expect((await store.take(ops)).map(({ allowed }) => allowed)).toEqual([false, false])
  expect(store.deleteSync(ops)).toBe(2)
  expect(await store.delete(ops)).toBe(0)
  expect(store.takeSync(ops).map(({ allowed }) => allowed)).toEqual([true, true])
})

const quotas: readonly [what: string, quota: Quota, verb: Verb][] = [
  ['a fixed window', fixedWindow({ limit: 1, window: '1m' }), 'consume'],
  ['a sliding window', slidingWindow({ limit: 1, window: '1m' }), 'consume'],
  ['a log', slidingLog({ limit: 1, window: '1m' }), 'consume'],
  ['a bucket that starts empty', tokenBucket({ limit: 1, per: '1m', initial: 0 }), 'consume'],
  ['a refund', perMinute(1), 'refund'],
  ['a charge', perMinute(1), 'charge'],
]

test.each(quotas)('a lean store has no take of %s, and says which store has', (_, quota, verb) => {
  const step = stepFor(quota, verb, 1)
  const message = "Write store: memoryStore() of '@spillway/memory', or"
  expect(() => prepared(leanStore(), step)).toThrow(message)
  expect(() => leanStore().takeSync([{ policy: 'api', key: 'ann', step }])).toThrow(message)
})

// In Bun, anybody can choose texts whose hashes agree.
test('a lean store gives no key to a Map of Bun as it is', () => {
  vi.stubGlobal('Bun', {})
  const take = prepared(leanStore(), stepFor(perMinute(2), 'consume', 1))
  const set = vi.spyOn(Map.prototype, 'set')
  const allowed = [1, 2, 3].map((second) => take.take('alice', 1.8e15 + second).allowed)
  const names = set.mock.calls.map(([name]) => String(name))
  expect(allowed).toEqual([true, true, false])
  expect(names.length).toBe(1)
  expect(names[0]).not.toContain('alice')
})
