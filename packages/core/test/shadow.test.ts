import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { DecisionEvent } from '../src/http/index.ts'
import { perMinute, rateLimiter, type Store } from '../src/index.ts'
import { type FakeRequest, setUp } from './fake-request.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a shadow policy', () => {
  test('counts and reports, never denies, and does not affect the enforced ones', () => {
    const events: DecisionEvent<FakeRequest>[] = []
    const { evaluate } = setUp({
      policies: [
        { name: 'live', quota: perMinute(3) },
        { name: 'planned', quota: perMinute(1), mode: 'shadow' },
      ],
      onDecision: (event) => events.push(event),
    })
    const verdicts = [evaluate(), evaluate()]
    expect(verdicts.map(({ denial }) => denial)).toEqual([undefined, undefined])
    expect(verdicts[1]?.headers[0]).toEqual(['RateLimit-Policy', '"live";q=3;w=60'])
    expect(events.map(({ mode, decision }) => [mode, decision.policy, decision.allowed, decision.remaining])).toEqual([
      ['shadow', 'planned (shadow)', true, 0],
      ['enforce', 'live', true, 2],
      ['shadow', 'planned (shadow)', false, 0],
      ['enforce', 'live', true, 1],
    ])
  })

  test('has a state of its own: enforcing it later starts afresh', () => {
    const { guard, evaluate } = setUp({ quota: perMinute(1), mode: 'shadow' })
    evaluate()
    guard.replace([{ quota: perMinute(1) }])
    expect([evaluate().denial?.status, evaluate().denial?.status]).toEqual([undefined, 429])
  })

  test('may have the longest name there is', () => {
    const { evaluate } = setUp({ quota: perMinute(1), mode: 'shadow', name: 'n'.repeat(100) })
    expect([evaluate(), evaluate()].map(({ denial }) => denial)).toEqual([undefined, undefined])
  })

  test('that fails affects no request', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const store: Store = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
    const { evaluate } = setUp({ quota: perMinute(1), mode: 'shadow', store, onStoreError: 'throw' })
    expect(evaluate().denial).toBeUndefined()
    await vi.waitFor(() =>
      expect(warn).toHaveBeenCalledWith(
        expect.stringContaining('a shadow policy failed; requests are not affected: The store failed: down.'),
      ),
    )
  })

  // Reproduces a bug: each of these failed the request, though the warning says that requests are not affected.
  test.each(['key', 'cost', 'quota', 'match'])('whose %s fails affects no request', async (option) => {
    const logger = { warn: vi.fn() }
    const live = { name: 'live', quota: perMinute(10) }
    const planned = { name: 'planned', quota: perMinute(1), mode: 'shadow' } as const
    const fail = () => {
      throw new Error('no database')
    }
    const { evaluate } = setUp({ policies: [{ ...planned, [option]: fail }, live], logger })
    expect(evaluate().decision).toMatchObject({ policy: 'live', remaining: 9 })
    const { guard } = setUp({ policies: [{ ...planned, [option]: async () => fail() }, live], logger })
    expect((await guard({})).decision).toMatchObject({ policy: 'live', remaining: 9 })
    await setImmediate()
    expect(logger.warn.mock.calls).toEqual([
      [expect.stringContaining('a shadow policy failed; requests are not affected: no database')],
    ])
  })

  test('whose key is not known yet delays no request, and no correction of others', async () => {
    let answer = (_key: string): void => {}
    const key = new Promise<string>((resolve) => {
      answer = resolve
    })
    const { evaluate, store } = setUp({
      policies: [
        { name: 'live', quota: perMinute(10) },
        { name: 'planned', quota: perMinute(10), mode: 'shadow', key: () => key },
      ],
      refundIf: (status) => status >= 500,
    })
    const { decision, after } = evaluate()
    expect(decision).toMatchObject({ policy: 'live', remaining: 9 })
    const settled = after?.(500, { tokens: 0 })
    await setImmediate()
    const left = async (name: string) =>
      (await rateLimiter({ name, quota: perMinute(10), store }).peek('203.0.113.7')).remaining
    expect(await left('live')).toBe(10)
    answer('203.0.113.7')
    await settled
    expect(await left('planned (shadow)')).toBe(10)
  })

  // Reproduces a bug: of a request whose client left the queue, the enforced units were refunded, and these were not.
  test('is refunded if the client leaves the queue', async () => {
    const { guard, store } = setUp({
      policies: [
        { name: 'live', quota: perMinute(1) },
        { name: 'planned', quota: perMinute(10), mode: 'shadow' },
      ],
      maxWait: '1h',
    })
    await guard({})
    const gone = new Set<() => void>()
    const held = guard({ gone })
    await setImmediate()
    for (const listener of gone) listener()
    expect((await held).denial?.status).toBe(499)
    await setImmediate()
    const planned = rateLimiter({ name: 'planned (shadow)', quota: perMinute(10), store })
    expect((await planned.peek('203.0.113.7')).remaining).toBe(9)
  })
})
