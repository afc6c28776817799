import { describe, expect, test } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { platforms } from './apps.ts'
import { advance, bothOf, each, libraries, Plain, reported, serve, statusesOf } from './throttler-apps.ts'

describe.each(Object.entries(libraries))('%s', (_, api) => {
  const { minutes, seconds } = api

  test.each(Object.keys(platforms))('counts each route and client, and sets headers, on %s', async (platform) => {
    const options = { throttlers: [{ limit: 2, ttl: minutes(1) }] }
    const send = await serve(api, { platform, controllers: [Plain], options })
    expect(reported(await send())).toEqual({ limit: 2, remaining: 1, reset: 60 })
    advance(15_000)
    expect(reported(await send())).toEqual({ limit: 2, remaining: 0, reset: 45 })
    const denied = await send()
    expect([denied.status, JSON.parse(denied.body), reported(denied)]).toEqual([
      429,
      { statusCode: 429, message: 'ThrottlerException: Too Many Requests' },
      { 'retry-after': 60 },
    ])
    expect((await send({ path: '/other' })).status).toBe(200)
    advance(59_999)
    expect(await statusesOf(send, 1)).toEqual([429])
    advance(1)
    expect(await statusesOf(send, 3)).toEqual([200, 200, 429])
  })

  test('blocks for blockDuration, and then starts anew', async () => {
    const options = { throttlers: [{ limit: 2, ttl: seconds(60), blockDuration: seconds(10) }] }
    const send = await serve(api, { controllers: [Plain], options })
    expect(await statusesOf(send, 3)).toEqual([200, 200, 429])
    advance(4_000)
    expect(reported(await send())).toEqual({ 'retry-after': 6 })
    advance(6_000)
    expect(await statusesOf(send, 3)).toEqual([200, 200, 429])
  })

  test('does not block with blockDuration 0: the oldest request expires first', async () => {
    const options = { throttlers: [{ limit: 2, ttl: seconds(60), blockDuration: 0 }] }
    const send = await serve(api, { controllers: [Plain], options })
    await send()
    advance(20_000)
    await send()
    expect(reported(await send())).toEqual({ 'retry-after': 40 })
    advance(40_000)
    expect(await statusesOf(send, 2)).toEqual([200, 429])
  })

  test('denies every request with a limit of 0', async () => {
    const send = await serve(api, { controllers: [Plain], options: { throttlers: [{ limit: 0, ttl: 1_000 }] } })
    expect(await statusesOf(send, 2)).toEqual([429, 429])
  })

  test('applies several throttlers, with the names as suffixes of headers', async () => {
    const throttlers = [
      { name: 'long', ttl: seconds(60), limit: 3 },
      { name: 'short', ttl: seconds(1), limit: 1 },
    ]
    const send = await serve(api, { controllers: [Plain], options: { throttlers } })
    expect(reported(await send())).toEqual({
      'limit-short': 1,
      'remaining-short': 0,
      'reset-short': 1,
      'limit-long': 3,
      'remaining-long': 2,
      'reset-long': 60,
    })
    expect(reported(await send())).toEqual({ 'retry-after-short': 1 })
    advance(1_000)
    expect(await statusesOf(send, 1)).toEqual([200])
  })
})

test.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER])('a limit of %d turns a throttler off', async (limit) => {
  const send = await serve(ours, { controllers: [Plain], options: { throttlers: [{ limit, ttl: 60_000 }] } })
  expect([(await send()).status, (await send()).status]).toEqual([200, 200])
})

// Each request was a 500: no quota has such times.
test('a ttl or blockDuration of Infinity is 95 years', async () => {
  const outcomes = await bothOf(async (api) => {
    const results: unknown[] = []
    for (const times of [{ ttl: Infinity }, { ttl: 60_000, blockDuration: Infinity }]) {
      const options = { throttlers: [{ limit: 1, ...times }] }
      const send = await serve(api, { controllers: [Plain], options })
      const statuses = await statusesOf(send, 1)
      const { status, headers } = await send()
      advance(api.days(3_650))
      results.push([...statuses, status, headers['retry-after'], (await send()).status])
    }
    return results
  })
  const lasting = (wait: string) => [1, 2].map(() => [200, 429, wait, 429])
  expect(outcomes).toEqual(each(lasting('3000000000'), lasting('Infinity')))
})

test('a fraction of a limit is no request', async () => {
  const options = { throttlers: [{ limit: 2.5, ttl: 60_000 }] }
  const outcomes = await bothOf(async (api) => statusesOf(await serve(api, { controllers: [Plain], options }), 3))
  expect(outcomes).toEqual(each([200, 200, 429], [200, 200, 429]))
})
