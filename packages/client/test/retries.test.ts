import { limitedFetch, ServiceDownError } from '@spillway/client'
import { perSecond, remoteStore } from '@spillway/core'
import { describe, expect, test, vi } from 'vitest'
import { Throttle } from '../src/throttle.ts'
import { denial, fakeStore, partner, settled, useFakeTime } from './partner.ts'

useFakeTime()

const URL = 'https://api.example/'
const ok = () => new Response('ok')
const one = async (promise: Promise<Response>) => (await settled(promise))[0] as PromiseFulfilledResult<Response>

describe('a call that was denied', () => {
  test('is sent again when its key is no longer paused', async () => {
    const { client, times } = partner((_, i) => (i === 0 ? denial({ 'retry-after': '3' }) : ok()))
    expect((await one(client()(URL))).value.status).toBe(200)
    expect(times()).toEqual([0, 3_000])
  })

  test('is sent again as often as retries says, and then returned', async () => {
    const { client, times } = partner(() => denial({ 'retry-after': '3' }))
    expect((await one(client()(URL))).value.status).toBe(429)
    expect(times()).toEqual([0, 3_000, 6_000])
    expect((await one(client({ name: 'none', retries: 0 })(URL))).value.status).toBe(429)
    expect(times()).toHaveLength(4)
  })

  test('is returned if the pause is longer than what is left of maxWait', async () => {
    const { client, times } = partner(() => denial({ 'retry-after': '20' }))
    expect((await one(client({ maxWait: '25s' })(URL))).value.status).toBe(429)
    expect(times()).toEqual([0, 20_000])
  })

  test('is returned if the service says that it should not be sent again', async () => {
    for (const name of ['stripe-should-retry', 'x-should-retry']) {
      const { client, times } = partner(() => denial({ [name]: 'false' }))
      await one(client()(URL))
      expect(times()).toEqual([0])
    }
  })

  test('has its body discarded', async () => {
    const cancelled = vi.fn()
    const endless = () => new ReadableStream({ cancel: cancelled, pull: (to) => to.enqueue(new Uint8Array(9)) })
    const { client } = partner((_, i) =>
      i === 0 ? new Response(endless(), { status: 429, headers: { 'retry-after': '1' } }) : ok(),
    )
    await one(client()(URL))
    expect(cancelled).toHaveBeenCalledOnce()
  })
})

describe('a call without an answer', () => {
  test.each([502, 503, 504])('but a %i is sent again after a while', async (status) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.6)
    const { client, times } = partner((_, i) => (i === 0 ? new Response('', { status }) : ok()))
    expect((await one(client()(URL))).value.status).toBe(200)
    expect(times()[1]).toBeGreaterThanOrEqual(500)
    expect(times()[1]).toBeLessThanOrEqual(1_000)
  })

  test('is sent again, and its error is that of the last', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.9)
    let sent = 0
    const { client, times } = partner(() => Promise.reject(new TypeError(`fetch failed ${sent++}`)))
    const [result] = await settled(client()(URL))
    expect((result as PromiseRejectedResult).reason.message).toBe(`fetch failed ${times().length - 1}`)
    expect(times()).toHaveLength(3)
  })

  test('is not a 500, which is an answer', async () => {
    const { client, times } = partner(() => new Response('', { status: 500 }))
    expect((await one(client()(URL))).value.status).toBe(500)
    expect(times()).toEqual([0])
  })
})

describe('only what can be repeated is sent again', () => {
  const stream = () => new ReadableStream({ start: (to) => to.close() })
  const duplex = { duplex: 'half' } as object
  const emitter = Object.assign(Object.create({ pipe() {} }), { [Symbol.toStringTag]: 'FormData' })
  test.each<[string, number, RequestInit | Request]>([
    ['GET', 2, {}],
    ['HEAD', 2, { method: 'head' }],
    ['PUT of text', 2, { method: 'PUT', body: 'x' }],
    ['DELETE', 2, { method: 'DELETE' }],
    ['POST', 1, { method: 'POST', body: 'x' }],
    ['PATCH', 1, { method: 'PATCH', body: 'x' }],
    ['POST with a key', 2, { method: 'POST', body: 'x', headers: { 'Idempotency-Key': '1' } }],
    ['POST of a form with a key', 2, { method: 'POST', body: new FormData(), headers: [['idempotency-key', '1']] }],
    ['PUT of parameters', 2, { method: 'PUT', body: new URLSearchParams('a=1') }],
    ['PUT of bytes', 2, { method: 'PUT', body: new Uint8Array(3) }],
    ['PUT of a blob', 2, { method: 'PUT', body: new Blob(['x']) }],
    ['PUT of a stream', 1, { method: 'PUT', body: stream(), ...duplex }],
    ['PUT of a stream of Node', 1, { method: 'PUT', body: emitter }],
    ['PUT of a generator', 1, { method: 'PUT', body: (async function* () {})() as never, ...duplex }],
    ['GET as a request', 2, new Request(URL)],
    ['PUT as a request with a body', 1, new Request(URL, { method: 'PUT', body: 'x' })],
    ['DELETE as a request without', 2, new Request(URL, { method: 'DELETE' })],
    ['POST as a request with a key', 2, new Request(URL, { method: 'POST', headers: { 'idempotency-key': '1' } })],
  ])('%s is sent %i times', async (_, times, call) => {
    const { got, client } = partner((_, i) => (i === 0 ? denial({ 'retry-after': '1' }) : ok()))
    await one(call instanceof Request ? client()(call) : client()(URL, call))
    expect(got).toHaveLength(times)
  })
})

test('retries are a tenth of all calls, and ten more', async () => {
  const { got, client } = partner(() => denial({ 'retry-after-ms': '1' }))
  const fetch = client({ quota: perSecond(1000), maxWait: '1h' })
  for (let i = 0; i < 300; i++) await settled(fetch(URL))
  // Each call that is sent counts, also a retry: 300 calls and r retries allow 10 + (300 + r) / 10.
  expect(got.length - 300).toBeGreaterThan(30)
  expect(got.length - 300).toBeLessThanOrEqual(10 + got.length / 10)
})

describe('a caller that leaves', () => {
  test('while its retry waits has its reason, and nothing is sent', async () => {
    const cancelled = vi.fn()
    const body = () => new ReadableStream({ cancel: cancelled })
    for (const status of [429, 502]) {
      const { got, client } = partner(
        () => new Response(body(), { status, headers: { ...(status === 429 && { 'retry-after': '9' }) } }),
      )
      const abort = new AbortController()
      const call = client()(URL, { signal: abort.signal })
      setTimeout(() => abort.abort(new Error('left')), 100)
      const [result] = await settled(call)
      expect((result as PromiseRejectedResult).reason.message).toBe('left')
      expect(got).toHaveLength(1)
    }
    expect(cancelled).toHaveBeenCalledTimes(2)
  })

  test('in flight says nothing about the service', async () => {
    const { got, client } = partner((_, i) => (i < 5 ? Promise.reject(new Error('left')) : ok()))
    const fetch = client()
    for (let i = 0; i < 5; i++) {
      const abort = new AbortController()
      const call = fetch(URL, { signal: abort.signal })
      abort.abort(new Error('left'))
      await settled(call)
    }
    got.length = 5
    await settled(fetch(URL))
    expect(got).toHaveLength(6)
  })
})

describe('a service that is down', () => {
  test('gets few calls, and the others reject', async () => {
    vi.spyOn(Math, 'random').mockRestore()
    const { got, client } = partner(() => Promise.reject(new TypeError('fetch failed')))
    const fetch = client({ quota: perSecond(1000), retries: 0 })
    const errors: unknown[] = []
    for (let i = 0; i < 500; i++) {
      const [result] = await settled(fetch(URL))
      errors.push((result as PromiseRejectedResult).reason)
    }
    expect(got.length).toBeLessThan(60)
    expect(errors.filter((error) => error instanceof ServiceDownError)).toHaveLength(500 - got.length)
    expect(errors.find((error) => error instanceof ServiceDownError)).toMatchObject({
      code: 'ERR_SPILLWAY_SERVICE_DOWN',
      key: 'api.example',
      message: expect.stringContaining('most calls to "api.example" have failed'),
    })
  })

  test('gets all of them again within half a minute', async () => {
    let isDown = true
    const { got, client } = partner(() => (isDown ? Promise.reject(new TypeError('fetch failed')) : ok()))
    const fetch = client({ quota: perSecond(1000), retries: 0 })
    for (let i = 0; i < 50; i++) await settled(fetch(URL))
    isDown = false
    await vi.advanceTimersByTimeAsync(30_000)
    const before = got.length
    for (let i = 0; i < 20; i++) await settled(fetch(URL))
    expect(got.length - before).toBe(20)
  })

  test('does not keep others from theirs', async () => {
    const { got, client } = partner(({ url }) => (url === URL ? Promise.reject(new TypeError('fetch failed')) : ok()))
    const fetch = client({ retries: 0 })
    for (let i = 0; i < 20; i++) await settled(fetch(URL))
    got.length = 0
    await settled(fetch('https://else.example/'))
    expect(got).toHaveLength(1)
  })

  test('is found by the formula, over 30 seconds', () => {
    const throttle = new Throttle()
    expect(throttle.share(0)).toBe(0)
    for (let i = 0; i < 10; i++) throttle.count(0, i < 5)
    expect(throttle.share(0)).toBe(0)
    for (let i = 0; i < 10; i++) throttle.count(10_000, false)
    expect(throttle.share(10_000)).toBe((20 - 5 / 0.5) / 21)
    expect(throttle.share(29_999)).toBe((20 - 5 / 0.5) / 21)
    expect(throttle.share(30_000)).toBe(10 / 11)
    expect(throttle.share(45_000)).toBe(0)
    expect(throttle.share(9e12)).toBe(0)
  })
})

describe('redirects', () => {
  const redirected = (url: string, init: ResponseInit = {}) =>
    Object.defineProperties(new Response('', init), { url: { value: url }, redirected: { value: true } })

  test('count for the host that answers, whose limits are not those of the first', async () => {
    const { client, times } = partner((_, i) =>
      i === 0 ? redirected('https://else.example/x', { status: 429, headers: { 'retry-after': '9' } }) : ok(),
    )
    const fetch = client()
    await settled(fetch(URL), fetch(URL), fetch('https://else.example/'))
    expect(times()).toEqual([0, 0, 100])
    await settled(fetch('https://else.example/'))
    expect(times()[3]).toBe(9_000)
  })

  test('to the same host consume a unit more', async () => {
    const { client, times } = partner((_, i) => (i === 0 ? redirected(`${URL}new`) : ok()))
    const fetch = client()
    await settled(fetch(URL))
    await settled(fetch(URL))
    expect(times()).toEqual([0, 200])
  })
})

describe('a store that is away', () => {
  const away = () => {
    const failing = async (): Promise<never> => {
      throw new Error('ECONNREFUSED')
    }
    return { take: failing, takeEach: failing, delete: failing }
  }
  const logger = { warn: () => {} }

  test('leaves each process to pace and pause by itself', async () => {
    const { client, times } = partner((_, i) => (i === 2 ? denial({ 'retry-after': '5' }) : ok()))
    const fetch = client({ store: remoteStore(away()), logger, retries: 0 })
    await settled(fetch(URL), fetch(URL), fetch(URL))
    await settled(fetch(URL))
    expect(times().slice(0, 3)).toEqual([0, 100, 200])
    expect(times()[3]).toBeGreaterThanOrEqual(5_200)
  })

  test('lets calls pass, or fail, as onStoreError says', async () => {
    const { got, client } = partner()
    const allow = client({ store: remoteStore(away(), { onStoreError: 'allow' }), logger })
    await settled(allow(URL), allow(URL))
    expect(got).toHaveLength(2)
    const deny = client({ store: remoteStore(away(), { onStoreError: 'deny' }), logger, name: 'denied' })
    const [result] = await settled(deny(URL))
    expect(result?.status).toBe('rejected')
    expect(got).toHaveLength(2)
  })
})

test('the global fetch sends calls by default, also one that is set later', async () => {
  const fetch = limitedFetch({ quota: perSecond(5), store: fakeStore() })
  vi.stubGlobal('fetch', async () => new Response('later'))
  try {
    expect(await (await fetch(URL)).text()).toBe('later')
  } finally {
    vi.unstubAllGlobals()
  }
})
