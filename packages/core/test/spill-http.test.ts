import { modelStore, START } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions, type RateLimitOptions, type Verdict } from '../src/http/index.ts'
import { leakyBucket, perDay, perMinute, perSecond } from '../src/index.ts'

afterEach(() => void vi.useRealTimers())

describe('over HTTP', () => {
  const policies: PolicyOptions<object>[] = [
    { name: 'second', quota: perSecond(1), spill: 'extra' },
    { name: 'day', quota: perDay(100) },
    { name: 'extra', quota: perMinute(6) },
  ]
  const setUp = (options: object = {}) => {
    const store = modelStore(() => START)
    const guard = httpGuard({ policies, store, ...options } as RateLimitOptions<object>, plainReader)
    return async (): Promise<Verdict> => guard({})
  }
  const limitOf = ({ headers }: Verdict): unknown => headers.find(([name]) => name === 'RateLimit')?.[1]

  test('headers list the policies that paid, and of a denial all that deny', async () => {
    const send = setUp()
    expect(limitOf(await send())).toBe('"second";r=0;t=1, "day";r=99;t=864')
    const second = await send()
    expect(limitOf(second)).toBe('"extra";r=5;t=10, "day";r=98;t=864')
    expect(second.headers[0]).toEqual(['RateLimit-Policy', '"extra";q=6;w=60, "day";q=100;w=86400'])
    for (let i = 0; i < 5; i++) await send()
    const { denial, ...denied } = await send()
    expect(limitOf(denied as Verdict)).toBe('"second";r=0;t=1, "extra";r=0;t=10, "day";r=93;t=864')
    expect(denied.headers.at(-1)).toEqual(['Retry-After', '1'])
    expect(JSON.parse(denial?.body ?? '')).toMatchObject({ 'violated-policies': ['second', 'extra'] })
  })

  test('a request is settled by the name of either', async () => {
    const send = setUp()
    await send()
    for (const name of ['second', 'extra']) {
      const { decision } = await send()
      await decision?.settle(0, name)
    }
    expect(limitOf(await send())).toContain('"extra";r=5;')
  })

  test('what a response refunds goes back to the policy that paid', async () => {
    const send = setUp({ refundIf: (status: number) => status >= 500 })
    await send()
    await (await send()).after?.(500, undefined)
    expect(limitOf(await send())).toContain('"extra";r=5;')
  })

  test('a spill policy that does not apply is not drawn upon, nor one whose policy does not apply', async () => {
    const [second, day, extra] = policies as [PolicyOptions<object>, PolicyOptions<object>, PolicyOptions<object>]
    const sendWithout = setUp({ policies: [second, day, { ...extra, match: () => false }] })
    expect([(await sendWithout()).denial, (await sendWithout()).denial?.status]).toEqual([undefined, 429])
    const sendOther = setUp({ policies: [{ ...second, match: () => false }, day, extra] })
    expect(limitOf(await sendOther())).toBe('"day";r=99;t=864')
  })

  test('a queue as the spill policy holds requests back', async () => {
    const queue = { name: 'extra', quota: leakyBucket({ limit: 1, per: '1s', queue: 3 }) }
    vi.useFakeTimers()
    const send = setUp({ policies: [policies[0], queue] })
    await send()
    await send()
    let held = true
    const third = send().then(() => {
      held = false
    })
    await vi.advanceTimersByTimeAsync(999)
    expect(held).toBe(true)
    await vi.advanceTimersByTimeAsync(1)
    await third
    expect(held).toBe(false)
  })
})
