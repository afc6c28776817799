import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { perMinute, rateLimiter, StoreError } from '../src/index.ts'
import { elsewhere, logged, setUp } from './degraded.ts'

describe('a store that fails', () => {
  // Row 24 of the peers' bugs: a store that is down leaves 5 of 10, reset in 0 s.
  test("is no limit with 'allow', and invents no numbers", async () => {
    const { store, send } = setUp({ onStoreError: 'allow' })
    store.break('failing')
    const { decision, headers, denial } = await send()
    expect({ headers, denial }).toEqual({ headers: [], denial: undefined })
    expect(decision).toMatchObject({ allowed: true, degraded: { reason: 'error', action: 'allow' } })
  })

  test("denies with 503, not 429, with 'deny'", async () => {
    const { store, send } = setUp({ onStoreError: 'deny' })
    store.break('failing')
    const { decision, headers, denial } = await send()
    expect(headers).toEqual([['Retry-After', '1']])
    expect(denial?.status).toBe(503)
    expect(denial?.body).not.toContain('retry-after-ms')
    expect(JSON.parse(denial?.body ?? '')).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      'violated-policies': ['default'],
    })
    expect(decision?.degraded).toEqual({ reason: 'error', action: 'deny' })
  })

  test('is stood in for by a limiter of its own', async () => {
    const fallback = rateLimiter({ quota: perMinute(1), store: modelStore(fakeClock()) })
    const { store, send } = setUp({ onStoreError: fallback })
    store.break('failing')
    const [first, second] = [await send(), await send()]
    expect(first.decision).toMatchObject({ allowed: true, degraded: { action: 'fallback' } })
    expect(second.denial?.status).toBe(429)
    expect(second.headers).toEqual([['Retry-After', '60']])
  })

  // Row 31 of the peers' bugs: a slow store lets requests through, and a failing one throws, whatever is configured.
  test("is passed to the app with 'throw'", async () => {
    const { store, send } = setUp({ onStoreError: 'throw' })
    store.break('failing')
    await expect(send()).rejects.toThrow(StoreError)
  })

  test('is dealt with as the strictest policy wants', async () => {
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota: perMinute(3) },
        { name: 'b', quota: perMinute(3), onStoreError: 'deny' },
      ],
    })
    store.break('failing')
    expect((await send()).denial?.status).toBe(503)
  })

  test('asks no fallback limiter if one policy denies, and denies all of them', async () => {
    const fallback = elsewhere()
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota: perMinute(3), onStoreError: fallback },
        { name: 'b', quota: perMinute(3), onStoreError: 'deny' },
      ],
    })
    store.break('failing')
    expect((await send()).decision?.violated).toEqual(['a', 'b'])
    expect((await fallback.peek('203.0.113.7')).remaining).toBe(3)
  })

  test('is stood in for by several limiters, all or none, also for who has no key', async () => {
    const [fallback, empty] = [elsewhere(), rateLimiter({ quota: perMinute(1), store: modelStore(fakeClock()) })]
    const key = 'header:x-api-key'
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota: perMinute(3), key, onStoreError: fallback },
        { name: 'b', quota: perMinute(3), key, onStoreError: empty },
      ],
    })
    store.break('failing')
    expect([(await send()).denial?.status, (await send()).denial?.status]).toEqual([undefined, 429])
    expect((await fallback.peek('none')).remaining).toBe(2)
  })
})

test('onStoreError, replicas and logger are checked when the limiter is made', () => {
  expect(() => setUp({ onStoreError: 'open' as never })).toThrow(
    `onStoreError must be 'local', 'allow', 'deny', 'throw'`,
  )
  expect(() => setUp({ replicas: 0 })).toThrow('replicas must be a whole number, 1 or more; got 0')
  expect(() => setUp({ logger: {} as never })).toThrow('logger must have a method warn(message)')
  const options = { quota: perMinute(3), store: modelStore(fakeClock()) }
  expect(() => rateLimiter({ ...options, onStoreError: 'open' as never })).toThrow('onStoreError must be')
  expect(() => rateLimiter({ ...options, logger: {} as never })).toThrow('logger must have')
})

test('a failing store is reported to the logger of the limiter that asked it', async () => {
  const reported: string[] = []
  const { store, send } = setUp({ logger: { warn: (message) => reported.push(message) } })
  store.break('failing')
  await send()
  await send()
  expect(reported).toEqual([
    expect.stringContaining('spillway: the store failed (limiter "default"): The store failed: connection lost.'),
  ])
  expect(logged).toEqual([])
})
