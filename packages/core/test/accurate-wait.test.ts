import { quotasOf } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Quota } from '../src/index.ts'
import { type Asked, asked, second } from './asked.ts'

const verbs = fc.constantFrom('consume', 'consume', 'consume', 'charge', 'refund')

const histories = fc.array(
  fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: 2 * second }), fc.integer({ min: 0, max: 600 * second })),
    verb: verbs,
    cost: fc.integer({ min: 1, max: 14 }),
  }),
  { minLength: 1, maxLength: 12 },
)

const microsOf = (millis: number): number => Math.round(millis * 1_000)

// Of slots, nothing tells when they will be released.
const { 'in flight': _, ...announcing } = quotasOf

// T4, and rows 26 and 32 of the peers' bugs: a wait reported too long, too short, or of another request.
describe.each(Object.entries(announcing))('%s, whatever the history', (name, quotas) => {
  const whatever = (body: (subject: Asked, now: number, cost: number, quota: Quota) => Promise<void>) => () =>
    fc.assert(
      fc.asyncProperty(quotas, histories, fc.integer({ min: 1, max: 14 }), async (quota, history, cost) => {
        const subject = asked(quota)
        let now = 0
        for (const { after, verb, cost } of history) {
          now += after
          await subject.at(now)[verb]('alice', cost)
        }
        await body(subject, now, cost, quota)
      }),
    )

  test(
    'every probe before the wait that was reported is denied, and the one exactly at it passes',
    whatever(async ({ take }, now, cost) => {
      const { allowed, retryAfterMs } = take(now, cost)
      if (allowed || retryAfterMs === Infinity) return
      const wait = microsOf(retryAfterMs)
      for (const part of [0.1, 0.5, 0.9]) expect(take(now + Math.floor(wait * part), cost).allowed).toBe(false)
      expect(take(now + wait - 1, cost)).toMatchObject({ allowed: false, retryAfterMs: 0.001 })
      expect(take(now + wait, cost).allowed).toBe(true)
    }),
  )

  test(
    'there is more left exactly when it says, and all when it says',
    whatever(async ({ peek }, now) => {
      const { remaining, limit, replenishAfterMs, resetAfterMs } = await peek(now)
      if (replenishAfterMs === 0) {
        expect([remaining, resetAfterMs]).toEqual([limit, expect.any(Number)])
        return
      }
      const more = now + microsOf(replenishAfterMs)
      expect((await peek(more - 1)).remaining).toBe(remaining)
      expect((await peek(more)).remaining).toBeGreaterThan(remaining)
      const whole = now + microsOf(resetAfterMs)
      expect(await peek(whole)).toMatchObject({ remaining: limit, resetAfterMs: 0, replenishAfterMs: 0 })
      expect((await peek(whole - 1)).resetAfterMs).toBe(0.001)
      // A sliding window is as good as whole before it has forgotten everything.
      if (name !== 'sliding window') expect((await peek(whole - 1)).remaining).toBeLessThan(limit)
    }),
  )

  test(
    'what remains is exactly what passes',
    whatever(async ({ peek, take }, now, _, quota) => {
      const { remaining } = await peek(now)
      const owed = quota.kernel === 'bucket' ? quota.overdraft > 0 : quota.kernel === 'warm-up' && quota.burst > 1
      if (!owed) expect(take(now, remaining + 1).allowed).toBe(false)
      if (remaining > 0) expect(take(now, remaining)).toMatchObject({ allowed: true, remaining: 0 })
    }),
  )

  test(
    'a refund gives back what was taken and no more, and lifts nothing above the limit',
    whatever(async ({ at, peek, take }, now, cost) => {
      const before = await peek(now)
      if (!take(now, cost).allowed) return
      await at(now).refund('alice', cost)
      expect(await peek(now)).toMatchObject({ remaining: before.remaining })
      const { remaining, limit } = await at(now).refund('alice', 1_000)
      expect(remaining).toBe(limit)
    }),
  )
})
