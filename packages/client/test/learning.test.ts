import { perSecond, RateLimitedError } from '@spillway/core'
import { describe, expect, test, vi } from 'vitest'
import { Partners } from '../src/partners.ts'
import { denial, partner, settled, useFakeTime } from './partner.ts'

useFakeTime()

const call = (fetch: typeof globalThis.fetch, times = 1) =>
  settled(...Array.from({ length: times }, () => fetch('https://api.example/')))

/** An answer with headers. */
const ok = (headers: Record<string, string>) => new Response('ok', { headers })

describe('a denial', () => {
  test('pauses the key in all processes that share the store', async () => {
    const { client, times } = partner((_, i) => (i === 0 ? denial({ 'retry-after': '5' }) : new Response('ok')))
    const [one, other] = [client({ retries: 0, name: 'api' }), client({ retries: 0, name: 'api' })]
    await call(one)
    await settled(one('https://api.example/'), other('https://api.example/'), other('https://else.example/'))
    expect(times()).toEqual([0, 0, 5_000, 5_100])
  })

  test('holds calls that have their turns already', async () => {
    const { client, times } = partner((_, i) => (i === 0 ? denial({ 'retry-after': '5' }) : new Response('ok')))
    await call(client({ retries: 0 }), 3)
    expect(times()).toEqual([0, 5_000, 5_100])
  })

  test('has jitter, which only lengthens it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999)
    const { client, times } = partner((_, i) => (i === 0 ? denial({ 'retry-after': '10' }) : new Response('ok')))
    const fetch = client({ retries: 0 })
    await call(fetch)
    await call(fetch)
    expect(times()[1]).toBeGreaterThan(10_000)
    expect(times()[1]).toBeLessThanOrEqual(11_000)
  })

  test('that does not say how long doubles the pause each time, up to a minute', async () => {
    const { client, times } = partner(() => denial())
    const fetch = client({ retries: 0, maxWait: '2m' })
    for (let i = 0; i < 9; i++) await call(fetch)
    const gaps = times().map((time, i) => time - (times()[i - 1] ?? 0))
    expect(gaps).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  })

  test.each([
    ['403 with Retry-After', denial({ 'retry-after': '7' }, 403)],
    ['403 with no calls left', denial({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' }, 403)],
    ['503 with Retry-After', denial({ 'retry-after': '7' }, 503)],
    ['429 with a reset', denial({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' })],
    ['429 of draft 11', denial({ ratelimit: '"day";r=9;t=1, "burst";r=0;t=7' })],
    ['429 in milliseconds', denial({ 'retry-after-ms': '7000', 'retry-after': '9' })],
    [
      '429 with contradictory headers',
      denial({ 'retry-after': '7', 'x-ratelimit-remaining': '99', 'x-ratelimit-reset': '0' }),
    ],
  ])('is a %s', async (_, answer) => {
    const { client, times } = partner((_, i) => (i === 0 ? answer : new Response('ok')))
    const fetch = client({ retries: 0 })
    await call(fetch)
    await call(fetch)
    expect(times()).toEqual([0, 7_000])
  })

  test('is not any 403 or 503', async () => {
    const { client, times } = partner((_, i) => new Response('no', { status: i === 0 ? 403 : 503 }))
    const fetch = client({ retries: 0 })
    await call(fetch)
    await call(fetch)
    expect(times()).toEqual([0, 100])
  })

  test('that asks for years pauses for maxPause, and calls that cannot wait are rejected at once', async () => {
    const { got, client, times } = partner((_, i) =>
      i === 0 ? denial({ 'retry-after': '999999999999' }) : new Response('ok'),
    )
    const fetch = client({ retries: 0, maxPause: '10m' })
    await call(fetch)
    const before = Date.now()
    await expect(fetch('https://api.example/')).rejects.toThrow(RateLimitedError)
    expect([Date.now() - before, got.length]).toEqual([0, 1])
    await vi.advanceTimersByTimeAsync(599_000)
    await call(fetch)
    expect(times()).toEqual([0, 600_000])
  })

  test.each(['-5', '0', 'NaN', '', 'Thu, 01 Jan 1970 00:00:00 GMT', '1e99'])(
    'with Retry-After %o pauses for a second',
    async (wait) => {
      const { client, times } = partner((_, i) => (i === 0 ? denial({ 'retry-after': wait }) : new Response('ok')))
      const fetch = client({ retries: 0 })
      await call(fetch)
      await call(fetch)
      expect(times()).toEqual([0, 1_000])
    },
  )
})

describe('the last unit', () => {
  test('pauses the key before it is denied', async () => {
    const { client, times } = partner((_, i) =>
      ok({ 'x-ratelimit-remaining': i === 1 ? '0' : '5', 'x-ratelimit-reset': '3' }),
    )
    await call(client(), 3)
    expect(times()).toEqual([0, 100, 3_100])
  })

  test('is no pause if the next comes within the pace: whole seconds would halve it', async () => {
    const { client, times } = partner(() =>
      ok({ 'ratelimit-policy': '"default";q=10;w=1', ratelimit: '"default";r=0;t=1' }),
    )
    await call(client(), 5)
    expect(times().at(-1)).toBeLessThan(500)
  })
})

describe('a limit', () => {
  const halved = { 'ratelimit-policy': '"default";q=5;w=1', ratelimit: '"default";r=3;t=1' }
  const gapsOf = (times: readonly number[]) => times.slice(1).map((time, i) => time - (times[i] as number))

  test('that is lower is learned by the first answer, with a little room', async () => {
    const { client, times } = partner((_, i) => ok(i < 3 ? {} : halved))
    const fetch = client()
    for (let i = 0; i < 8; i++) await call(fetch)
    expect(gapsOf(times()).slice(0, 3)).toEqual([100, 100, 100])
    // The call after it has its turn already.
    for (const gap of gapsOf(times()).slice(5)) expect(gap).toBeGreaterThanOrEqual(200)
    for (const gap of gapsOf(times()).slice(5)) expect(gap).toBeLessThanOrEqual(210)
  })

  test('that rises again is the one of the quota, and never more', async () => {
    const { client, times } = partner((_, i) => ok(i < 3 ? halved : { 'ratelimit-policy': '"default";q=5000;w=1' }))
    const fetch = client()
    for (let i = 0; i < 9; i++) await call(fetch)
    expect(gapsOf(times()).slice(-4)).toEqual([100, 100, 100, 100])
  })

  test.each<[string, Record<string, string>]>([
    ['draft 7', { ratelimit: 'limit=5, remaining=3, reset=1', 'ratelimit-policy': '5;w=1' }],
    [
      'draft 6',
      { 'ratelimit-limit': '5', 'ratelimit-remaining': '3', 'ratelimit-reset': '1', 'ratelimit-policy': '5;w=1' },
    ],
    ['no window', { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': '1' }],
    ['a longer window', { 'x-ratelimit-limit': '50', 'x-ratelimit-remaining': '30', 'x-ratelimit-reset': '10' }],
    ['several', { 'ratelimit-policy': '"a";q=100;w=1, "b";q=50;w=10, "day";q=100;w=86400' }],
  ])('is learned from %s', async (_, headers) => {
    const { client, times } = partner(() => ok(headers))
    const fetch = client()
    for (let i = 0; i < 6; i++) await call(fetch)
    for (const gap of gapsOf(times()).slice(2)) expect(gap).toBeGreaterThanOrEqual(200)
    for (const gap of gapsOf(times()).slice(2)) expect(gap).toBeLessThanOrEqual(210)
  })

  test('whose window is not known does not rise as its end comes nearer', async () => {
    const { client, times } = partner((_, i) => ok({ 'x-ratelimit-limit': '50', 'x-ratelimit-reset': String(10 - i) }))
    const fetch = client()
    for (let i = 0; i < 9; i++) await call(fetch)
    for (const gap of gapsOf(times()).slice(2)) expect(gap).toBeGreaterThanOrEqual(200)
  })

  test.each<[string, Record<string, string>]>([
    ['no units', { 'ratelimit-policy': '"a";q=0;w=1' }],
    ['no window', { 'ratelimit-policy': '"a";q=1;w=0' }],
    [
      'tokens',
      { 'x-ratelimit-limit-tokens': '1', 'x-ratelimit-remaining-tokens': '1', 'x-ratelimit-reset-tokens': '1s' },
    ],
    ['bytes', { 'ratelimit-policy': '"a";q=1;w=1;qu="content-bytes"' }],
    ['slots', { 'ratelimit-policy': '"a";q=1;w=1;qu="concurrent-requests"', ratelimit: '"a";r=0;t=9' }],
    ['days', { 'ratelimit-policy': '"a";q=100;w=86400', ratelimit: '"a";r=50;t=9' }],
    ['more', { 'ratelimit-policy': '"a";q=999999999999999;w=1' }],
  ])('of %s does not change the pace', async (_, headers) => {
    const { client, times } = partner(() => ok(headers))
    const fetch = client()
    for (let i = 0; i < 4; i++) await call(fetch)
    expect(times()).toEqual([0, 100, 200, 300])
  })

  test('of a window with more calls at once keeps their number', async () => {
    const { client, times } = partner(() => ok({ 'ratelimit-policy': '"a";q=3;w=1' }))
    const fetch = client({ quota: perSecond(10) })
    await call(fetch)
    await call(fetch, 6)
    expect(times().filter((time) => time === 0).length).toBeLessThanOrEqual(4)
  })
})

test('only the answers of the 10,000 keys that were called last are remembered', () => {
  const partners = new Partners()
  const [first, second] = [partners.of('0'), partners.of('1')]
  for (let i = 2; i < 9_000; i++) partners.of(String(i))
  expect(partners.of('0')).toBe(first)
  for (let i = 9_000; i < 20_000; i++) partners.of(String(i))
  expect(partners.of('19999')).toBe(partners.of('19999'))
  expect(partners.of('1')).not.toBe(second)
})
