import { describe, expect, test, vi } from 'vitest'
import type { DecisionEvent } from '../src/http/index.ts'
import { perMinute, type Store } from '../src/index.ts'
import { type FakeRequest, setUp } from './fake-request.ts'

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
})
