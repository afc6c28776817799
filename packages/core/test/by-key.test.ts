import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type RateLimitOptions } from '../src/http/index.ts'
import { perHour, perMinute, type QuotaError, rateLimiter } from '../src/index.ts'

type Options = RateLimitOptions<object>

const setUp = (options: object) => {
  const store = modelStore(fakeClock())
  const guard = httpGuard({ store, ...options } as unknown as Options, plainReader)
  return { store, guard, ...guard.byKey }
}

// What the adapters' suite does not test: mistakes, shadows, tiers and spill policies.
describe('a call by key', () => {
  test.each<[string, object, unknown, RegExp]>([
    ['an empty text', { quota: perMinute(1) }, '', /key must be a non-empty string, the ip; got ""/],
    ['no text', { quota: perMinute(1), key: 'header:x-user' }, undefined, /the header:x-user; got undefined/],
    [
      'no text of a function',
      { quota: perMinute(1), key: () => 'a' },
      5,
      /the text that the key function returns; got 5/,
    ],
    ['a list for one selector', { quota: perMinute(1) }, ['a'], /got an array/],
    [
      'a text for a list',
      { quota: perMinute(1), key: ['path', 'ip'] },
      'a',
      /has 2 parts: write \["the path", "the ip"\]/,
    ],
    ['a short list', { quota: perMinute(1), key: ['path', 'ip'] }, ['/a'], /got a list of 1/],
    ['a part that is no text', { quota: perMinute(1), key: ['path', 'ip'] }, ['/a', 5], /got 5 for "ip"/],
    ['a network of another size', { quota: perMinute(1) }, '2001:db8::/64', /counted by \/56.*got "2001:db8::\/64"/],
    ['an invalid network', { quota: perMinute(1) }, '2001:db8::zz/56', /such as '10.0.0.0\/8'/],
  ])('rejects %s', async (_, options, key, message) => {
    const { peek, charge, reset } = setUp(options)
    for (const call of [peek, charge, reset]) await expect(call(key as never)).rejects.toThrow(message)
  })

  test('rejects an unknown policy, an unknown option, an invalid quota and invalid units', async () => {
    const { peek, charge, reset, block } = setUp({ quota: perMinute(1) })
    await expect(peek('a', { policy: 'b' })).rejects.toThrow('peek names the policy "b"; there are "default".')
    await expect(reset('a', { quota: perMinute(1) } as never)).rejects.toThrow('reset has no option "quota"')
    await expect(charge('a', 1, { polisy: 'a' } as never)).rejects.toThrow('Did you mean "policy"?')
    await expect(peek('a', { quota: 5 as never })).rejects.toThrow(
      'quota must be built by perMinute(100) or one of its',
    )
    await expect(block('a', '1h', { quota: 5 as never })).rejects.toThrow(
      'quota must be built by perMinute(100) or one',
    )
    for (const units of [0, -1, 1.5, '5', Number.NaN]) {
      const { code } = (await charge('a', units as never).catch((error: unknown) => error)) as QuotaError
      expect(code).toBe('ERR_SPILLWAY_COST')
    }
  })

  test('list, inspect and refund are for the policy named, with the quota of the key', async () => {
    const quota = perMinute(5)
    const policies = [
      { name: 'a', quota: perMinute(3), blocks: true },
      { name: 'plan', quota: () => quota, key: 'header:x-plan' },
      { name: 'trial', quota: perMinute(1), mode: 'shadow' },
    ]
    const { charge, refund, inspect, list, resetAll } = setUp({ policies })
    await expect(list()).rejects.toThrow('has several policies. Name one of "a", "plan"')
    await expect(list({ policy: 'plan' })).rejects.toThrow('Write list({ quota: perMinute(100) })')
    await expect(inspect('k', { policy: 'plan' })).rejects.toThrow('Write inspect(key, { quota: perMinute(100) })')
    await expect(list({ policy: 'a', limt: 5 } as never)).rejects.toThrow('Did you mean "limit"?')
    await expect(resetAll('b')).rejects.toThrow('resetAll names the policy "b"')
    for (const policy of ['a', 'plan', 'trial']) await charge('::1', 2, { policy, ...(policy === 'plan' && { quota }) })
    expect((await refund('::1', 1, { policy: 'plan', quota })).remaining).toBe(4)
    expect((await list({ policy: 'plan', quota })).keys).toMatchObject([{ key: '::1', decision: { remaining: 4 } }])
    expect(await inspect('::1', { policy: 'a' })).toMatchObject([{ policy: 'a', decision: { remaining: 1 } }])
    expect([await resetAll('a'), await resetAll()]).toEqual([1, 2])
  })

  test('takes a shadow policy and a tier by its name only', async () => {
    const shadow = setUp({ quota: perMinute(5), mode: 'shadow' })
    await expect(shadow.peek('a')).rejects.toThrow('has shadow policies only. Name one of "default (shadow)"')
    await shadow.guard({})
    expect(await shadow.peek('203.0.113.7', { policy: 'default' })).toMatchObject({ remaining: 4 })
    expect(await shadow.reset('203.0.113.7', { policy: 'default (shadow)' })).toBe(true)
    const policies = [
      { name: 'pro', quota: perMinute(50), tiers: 'plan', match: { method: 'POST' } },
      { name: 'free', quota: perMinute(5), tiers: 'plan' },
    ]
    const tiers = setUp({ policies })
    await tiers.guard({})
    await expect(tiers.peek('203.0.113.7')).rejects.toThrow(
      'has tiers, of which a key has one. Name one of "pro", "free"',
    )
    expect(await tiers.peek('203.0.113.7', { policy: 'free' })).toMatchObject({ remaining: 4 })
    expect(await tiers.reset('203.0.113.7')).toBe(true)
  })

  test('peeks at several policies and what they spill over to, charges the first, and resets all', async () => {
    const policies = [
      { name: 'plan', quota: perMinute(1), spill: 'extra' },
      { name: 'extra', quota: perHour(10) },
      { name: 'other', quota: perHour(100) },
    ]
    const { guard, peek, charge, reset, store } = setUp({ policies })
    await guard({})
    expect(await peek('203.0.113.7')).toMatchObject({ allowed: true, policy: 'extra', spilled: ['plan'] })
    expect((await charge('203.0.113.7', 4)).policies?.map(({ policy }) => policy)).toEqual(['plan', 'other'])
    expect(await peek('203.0.113.7', { policy: 'other' })).toMatchObject({ remaining: 95 })
    const extra = rateLimiter({ name: 'extra', quota: perHour(10), store: { ...store } })
    await extra.consume('203.0.113.7', 3)
    expect(await reset('203.0.113.7')).toBe(true)
    expect((await extra.peek('203.0.113.7')).remaining).toBe(10)
  })

  test('follows the policies that replaced others', async () => {
    const { guard, peek } = setUp({ quota: perMinute(5) })
    guard.replace([{ name: 'new', quota: perMinute(7) }])
    expect(await peek('203.0.113.7')).toMatchObject({ policy: 'new', limit: 7 })
  })
})
