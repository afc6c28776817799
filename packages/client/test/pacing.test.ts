import { type LimitedFetchOptions, limitedFetch, pacer } from '@spillway/client'
import { perSecond, QuotaError, RateLimitedError } from '@spillway/core'
import { describe, expect, test, vi } from 'vitest'
// cspell:ignore maxwait
import { fakeStore, partner, settled, useFakeTime } from './partner.ts'

useFakeTime()

const URLS = Array.from({ length: 5 }, (_, i) => `https://api.example/${i}`)

describe('calls', () => {
  test('are sent at the rate of the quota, first come, first served', async () => {
    const { got, client, times } = partner()
    const fetch = client()
    const results = await settled(...URLS.map((url) => fetch(url)))
    expect(results.map(({ status }) => status)).toEqual(Array(5).fill('fulfilled'))
    expect(times()).toEqual([0, 100, 200, 300, 400])
    expect(got.map(({ url }) => url)).toEqual(URLS)
  })

  test('of two processes share the rate', async () => {
    const { client, times } = partner()
    const [one, other] = [client({ name: 'shared' }), client({ name: 'shared' })]
    await settled(one('https://api.example/1'), other('https://api.example/2'), one('https://api.example/3'))
    expect(times()).toEqual([0, 100, 200])
  })

  test('to other hosts do not wait, nor do those with another key', async () => {
    const { client, times } = partner()
    const hosts = client()
    await settled(...[1, 2, 3].map((i) => hosts(`https://${i}.example/`)))
    expect(times()).toEqual([0, 0, 0])
    const paths = client({
      name: 'paths',
      key: async ({ url, method, headers }) => method + new URL(url).pathname + headers.get('x'),
    })
    await settled(
      paths('https://a.example/a'),
      paths('https://a.example/a', { method: 'post' }),
      paths('https://a.example/a', { headers: { x: '1' } }),
      paths(new Request('https://a.example/a', { headers: { x: '1' } })),
    )
    expect(times().slice(3)).toEqual([0, 0, 0, 100])
  })

  test('are rejected at once if they would wait longer than maxWait', async () => {
    const { got, client } = partner()
    const fetch = client({ maxWait: 250 })
    const calls = URLS.map((url) => fetch(url))
    await expect(calls[3]).rejects.toThrow(RateLimitedError)
    expect(got.length).toBeLessThan(3)
    const results = await settled(...calls)
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, false, false])
  })

  test('leave the queue when their signal aborts', async () => {
    const { got, client, times } = partner()
    const fetch = client()
    const abort = new AbortController()
    const calls = URLS.map((url, i) => fetch(i === 2 ? new Request(url, { signal: abort.signal }) : url))
    await vi.advanceTimersByTimeAsync(120)
    abort.abort(new Error('left'))
    await expect(calls[2]).rejects.toThrow('left')
    await settled(...calls)
    expect(got.map(({ url }) => url)).toEqual(URLS.filter((_, i) => i !== 2))
    expect(times()).toEqual([0, 100, 200, 300])
  })

  test('with a signal that has aborted are not sent', async () => {
    const { got, client } = partner()
    await expect(client()(URLS[0] as string, { signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow('left')
    expect(got).toEqual([])
  })
})

describe('a key function', () => {
  test.each([
    [
      'throws',
      () => {
        throw new Error('no tenant')
      },
      'no tenant',
    ],
    [
      'rejects',
      async () => {
        throw new Error('no tenant')
      },
      'no tenant',
    ],
    ['returns no text', () => undefined as never, 'key'],
  ])('that %s rejects the call, and sends nothing', async (_, key, message) => {
    const { got, client } = partner()
    await expect(client({ key })('https://api.example/')).rejects.toThrow(message)
    expect(got).toEqual([])
  })

  test('whose promise never settles rejects the call', async () => {
    const { client } = partner()
    const [result] = await settled(client({ key: () => new Promise(() => {}) })('https://api.example/'))
    expect(String((result as PromiseRejectedResult).reason)).toMatch(/the promise that key returned has not settled/)
  })
})

test('a URL that is none rejects the call', async () => {
  const { client } = partner()
  await expect(client()('orders')).rejects.toThrow(TypeError)
})

describe('options', () => {
  const valid = { quota: perSecond(5), store: fakeStore() }
  test.each<[object, RegExp]>([
    [{ ...valid, maxwait: '1s' }, /limitedFetch has no option "maxwait". Did you mean "maxWait"/],
    [{ ...valid, retry: 1 }, /Here that is retries: 2/],
    [{ ...valid, retries: -1 }, /retries must be a whole number, 0 or more; got -1. Use 0/],
    [{ ...valid, maxWait: 'soon' }, /maxWait must be a positive duration/],
    [{ ...valid, maxPause: 0 }, /maxPause must be a positive duration/],
    [{ ...valid, key: 'host' }, /key must be a function; got "host"/],
    [{ ...valid, fetch: 1 }, /fetch must be a function; got 1/],
    [{ ...valid, quota: 5 }, /quota/],
    [{ quota: perSecond(5) }, /store/],
    [{ ...valid, deadline: 5 }, /Write store: remoteStore\(store, { deadline }\)/],
    [
      { ...valid, store: { take: async () => [], takeEach: async () => [], delete: async () => 0 } },
      /remoteStore\(store\)/,
    ],
  ])('%o throws an error that teaches', (options, message) => {
    expect(() => limitedFetch(options as LimitedFetchOptions)).toThrow(QuotaError)
    expect(() => limitedFetch(options as LimitedFetchOptions)).toThrow(message)
  })

  test('of pacer do not retry', () => {
    expect(() => pacer({ ...valid, retries: 1 } as never)).toThrow(/pacer has no option "retries"/)
  })
})
