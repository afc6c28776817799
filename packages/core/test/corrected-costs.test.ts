import { describe, expect, test, vi } from 'vitest'
import { perMinute, QuotaError } from '../src/index.ts'
import { setUp } from './fake-request.ts'

describe('what a request took is corrected', () => {
  const left = ({ evaluate }: ReturnType<typeof setUp>) => (evaluate().decision?.remaining ?? Number.NaN) + 1

  test('by the app, once', async () => {
    const limit = setUp({ quota: perMinute(10), cost: ({ headers }) => Number(headers?.['cost'] ?? 1) })
    const { decision } = limit.evaluate({ headers: { cost: '6' } })
    await decision?.settle(2)
    await decision?.settle(0)
    expect(left(limit)).toBe(8)
  })

  test('upwards, into debt', async () => {
    const limit = setUp({ quota: perMinute(10) })
    await limit.evaluate().decision?.settle(15)
    expect(limit.evaluate().decision).toMatchObject({ allowed: false, retryAfterMs: 36_000 })
  })

  test('upwards as far as can be counted', async () => {
    const limit = setUp({ quota: perMinute(10) })
    await limit.evaluate().decision?.settle(Number.MAX_SAFE_INTEGER)
    // 95 years, and what of it a request must wait for.
    expect(limit.evaluate().decision?.resetAfterMs).toBe(3e12 + 6_000)
  })

  test('of the policy that is named, where there are several', async () => {
    const { evaluate } = setUp({
      policies: [
        { name: 'requests', quota: perMinute(10) },
        { name: 'tokens', quota: perMinute(1000), cost: 500 },
      ],
    })
    const { decision } = evaluate()
    await expect(decision?.settle(20)).rejects.toThrow('must name one of "requests", "tokens"; got undefined')
    await decision?.settle(20, 'tokens')
    expect(evaluate().decision?.policies?.map(({ remaining }) => remaining)).toEqual([8, 480])
  })

  test('by what the response says', async () => {
    const limit = setUp({ quota: perMinute(1000), cost: 600, settle: ({ tokens }) => tokens })
    await limit.evaluate().after?.(200, { tokens: 250 })
    expect(limit.evaluate().decision?.remaining).toBe(150)
  })

  // Row 40 of the peers' bugs, which they get right: count first, give back later, so that a crowd cannot slip in.
  test('by its status: 30 wrong logins at once are 5 attempts, and a right one costs nothing', async () => {
    const { evaluate } = setUp({ quota: perMinute(5), refundIf: (status) => status < 400 })
    const crowd = Array.from({ length: 30 }, () => evaluate())
    expect(crowd.filter(({ denial }) => denial === undefined)).toHaveLength(5)
    await crowd[0]?.after?.(200, { tokens: 0 })
    expect([evaluate().denial?.status, evaluate().denial?.status]).toEqual([undefined, 429])
  })

  test('not at all where nothing depends on the response', () => {
    expect(setUp({ quota: perMinute(1) }).evaluate().after).toBeUndefined()
    expect(setUp({ quota: perMinute(1), mode: 'shadow' }).evaluate().after).toBeUndefined()
  })

  test('not at all where nothing was counted, or the request is denied', () => {
    const { evaluate } = setUp({ quota: perMinute(1), refundIf: () => true, match: { path: '/' } })
    const verdicts = [evaluate({ path: '/other' }), evaluate(), evaluate()]
    expect(verdicts.map(({ after }) => after && 'later')).toEqual([undefined, 'later', undefined])
  })

  test('never twice: units that have refilled are not refunded', async () => {
    const { clock, evaluate } = setUp({ quota: perMinute(10), cost: 10 })
    const { decision } = evaluate()
    clock.advance(60_000)
    evaluate()
    await decision?.settle(0)
    expect(evaluate().denial?.status).toBe(429)
  })

  test('a cost that makes no sense changes nothing, and is reported', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { evaluate } = setUp({ quota: perMinute(10), settle: () => Number.NaN })
    const verdict = evaluate()
    await expect(verdict.decision?.settle(-1)).rejects.toThrow(QuotaError)
    await verdict.after?.(200, { tokens: 1 })
    expect(evaluate().decision?.remaining).toBe(8)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('got NaN'))
  })
})
