import { runInNewContext } from 'node:vm'
import { perMinute, type Quota } from '@spillway/core'
import { rateLimit } from '@spillway/express'
import { describe, expect, test } from 'vitest'
import { cached } from '../src/index.ts'
import { after, type Plan, quiet, setUp } from './lookups.ts'

describe('a quota', () => {
  const QUOTAS = { free: perMinute(10), pro: perMinute(100) }

  test('is that of the value, by name or by a function', async () => {
    const { plan } = setUp({ default: 'free' })
    expect(await after(10, plan.quota('bob', QUOTAS))).toBe(QUOTAS.pro)
    expect(plan.quota('bob', (name) => (name === 'pro' ? QUOTAS.pro : QUOTAS.free))).toBe(QUOTAS.pro)
    expect(plan.quota(undefined, QUOTAS)).toBe(QUOTAS.free)
  })

  test('is the same object each time, also while lookups fail', async () => {
    const { db, plan } = setUp({ default: 'free' })
    db.down = true
    const first = await after(10, plan.quota('bob', QUOTAS))
    expect(first).toMatchObject(QUOTAS.free)
    expect(plan.quota('bob', QUOTAS)).toBe(first)
    expect(first).not.toBe(QUOTAS.free)
  })

  // While a lookup failed, its marks were set on the promise: the quota was an empty object.
  test('may be a promise, or another thenable, also while lookups fail', async () => {
    const { db, plan } = setUp({ default: 'free' })
    const forwarding = (quota: Quota): PromiseLike<Quota> => runInNewContext('Promise').resolve(quota)
    const [own, foreign] = [async (name: Plan) => QUOTAS[name], (name: Plan) => forwarding(QUOTAS[name])]
    expect(await after(10, plan.quota('bob', own))).toBe(QUOTAS.pro)
    expect(await after(10, plan.quota('bob', foreign))).toBe(QUOTAS.pro)
    db.down = true
    expect(await after(10, plan.quota('ann', own))).toMatchObject(QUOTAS.free)
    expect(await after(10, plan.quota('ann', foreign))).toMatchObject(QUOTAS.free)
  })

  test('that is none is reported by the limiter, also while lookups fail', async () => {
    const { db, plan } = setUp({ default: 'free' })
    db.down = true
    for (const [key, none] of Object.entries({ ann: undefined, bob: {}, eve: 5 })) {
      const quota = await after(
        10,
        plan.quota(key, () => none as never),
      )
      expect(() => rateLimit({ quota })).toThrow('perMinute(100)')
    }
  })

  test.each([undefined, null, 5, 'free'])('of %o as quotas is an error that says what to write', async (quotas) => {
    const { plan } = setUp()
    await expect(after(10, plan.quota('bob', quotas as never))).rejects.toThrow(
      'quota(key, quotas) takes the quotas by value, { free: perMinute(60) }, or a function; got',
    )
  })

  // It proposed a default, which a known key does not get, and to add a quota for undefined.
  test.each<[unknown, string]>([
    ...['basic', 'toString', '__proto__'].map((name): [string, string] => [
      name,
      `there is no quota for "${name}": there are "free", "pro". Add it.`,
    ]),
    [
      { plan: 'pro' },
      'there is no quota for an object: there are "free", "pro". Write how to choose one: quota(key, (value) => …).',
    ],
    [undefined, `the key is missing or unknown, and there is no default. Set it: cached(lookup, { default: 'free' }).`],
  ])('of a value without one, %o, is an error that says what to write', async (value, message) => {
    const plan = cached(() => value as Plan, quiet)
    await expect(plan.quota('bob', QUOTAS as never)).rejects.toThrow(message)
  })
})
