import { httpGuard } from '@spillway/core/http'
import { inFlight, memoryStore, perMinute, rateLimiter } from '@spillway/memory'
import { shedder } from '@spillway/shed'
import { describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { HOSTILE, setUp } from './admin.ts'

describe('what it shows', () => {
  test('policies, masked keys, and the denials of the last hour', async () => {
    let now = 60_000 * 1_000
    const { admin, get, limiter } = await setUp({ clock: () => now })
    for (let i = 0; i < 3; i++) admin.onDecision({ decision: await limiter.consume('203.0.113.66') })
    now += 59 * 60_000
    admin.onDecision({ decision: await limiter.consume('203.0.113.66') })
    const state = async () =>
      (await (await get('?api=state')).json()) as { denials: { api: number[] }; policies: unknown }
    expect((await state()).policies).toMatchObject([{ name: 'api', quota: { limit: 10 } }])
    expect((await state()).denials.api).toEqual([3, ...new Array(58).fill(0), 1])
    now += 60_000
    expect((await state()).denials.api.reduce((a, b) => a + b)).toBe(1)
    const text = await (await get('?api=keys&policy=api')).text()
    for (const secret of ['203.0.113.66', 'onerror', 'kkkk']) expect(text).not.toContain(secret)
    expect(JSON.parse(text).keys).toMatchObject([
      { key: '20…66', remaining: 0 },
      { remaining: 3 },
      { key: 'digest', ref: null, isDigest: true, remaining: 7 },
    ])
  })

  test('each denial of a blocked key once in its policy, and in its block list', async () => {
    const { admin, get, limiter } = await setUp()
    // Its units are used up, too: the policy and its block list deny the request.
    await limiter.block('203.0.113.66', '1h')
    await limiter.block('fresh', '1h')
    for (const key of ['203.0.113.66', 'fresh']) admin.onDecision({ decision: await limiter.consume(key) })
    const { denials } = (await (await get('?api=state')).json()) as { denials: Record<string, number[]> }
    expect(Object.entries(denials).map(([name, minutes]) => [name, minutes.at(-1)])).toEqual([
      ['api', 2],
      ['api (blocked)', 2],
    ])
  })

  // It had a reference, which no change accepted.
  test('the key of requests without a key, which cannot be changed', async () => {
    const store = memoryStore()
    const options = { name: 'api', quota: perMinute(10), store }
    await httpGuard({ ...options, key: 'header:x-api-key' }, plainReader)({})
    const { get } = await setUp({ limiters: [rateLimiter(options)] })
    const { keys } = (await (await get('?api=keys&policy=api')).json()) as { keys: unknown[] }
    expect(keys).toMatchObject([{ key: 'no key', ref: null, isDigest: false, remaining: 9 }])
  })

  test('what is in flight in this process: slots, and the calls of shedders', async () => {
    const store = memoryStore()
    const slots = rateLimiter({ name: 'slots', quota: inFlight(3), store })
    const overload = shedder({ limit: 1, queue: 0 })
    const { get } = await setUp({ limiters: [slots], shedders: { api: overload } })
    const state = async () => ((await (await get('?api=state')).json()) as { inFlight: unknown[] }).inFlight
    const dropped = { 'queue-full': 0, 'concurrency-limit': 0, 'time-out': 0, priority: 0 }
    expect(await state()).toEqual([
      { name: 'slots', limit: 3, inFlight: 0 },
      { name: 'api', limit: 1, inFlight: 0, queued: 0, dropped },
    ])
    const held = [await slots.acquire('ann'), await slots.acquire('ben')]
    await Promise.all([overload.acquire(), overload.acquire()])
    expect(await state()).toMatchObject([
      { name: 'slots', inFlight: 2 },
      { inFlight: 1, dropped: { ...dropped, 'concurrency-limit': 1 } },
    ])
    for (const slot of held) await slot.release()
    expect(await state()).toMatchObject([{ inFlight: 0 }, { inFlight: 1 }])
  })

  test.each([[{ api: {} }], [[]], ['api']])('no shedders that are none: %o', async (shedders) => {
    await expect(setUp({ shedders: shedders as never })).rejects.toThrow(/shedders/)
  })

  test('masks that are promises', async () => {
    const { keys } = await setUp({ mask: async (key) => `#${key.length}` })
    expect((await keys()).map(({ key }) => key)).toEqual(['#12', `#${HOSTILE.length}`, 'digest'])
  })

  test.each([undefined, 5, { key: '203.0.113.66' }])('no mask that is no text: %o', async (shown) => {
    const { get, warnings } = await setUp({ mask: () => shown as never })
    const answer = await get('?api=keys&policy=api')
    expect([answer.status, await answer.text(), warnings]).toEqual([
      500,
      JSON.stringify({ error: 'it failed; the log of the server says why' }),
      [expect.stringContaining(`ERR_SPILLWAY_OPTION: adminHandler: mask must return text; got ${typeof shown}.`)],
    ])
  })

  test('nothing is cached, framed or sniffed, and a mistake is a plain answer', async () => {
    const { get, admin } = await setUp()
    for (const query of ['', '?api=state', '?api=keys&policy=none', '?api=none']) {
      const { headers } = await get(query)
      expect([headers.get('cache-control'), headers.get('x-frame-options')]).toEqual(['no-store', 'DENY'])
    }
    expect((await get('?api=keys&policy=none')).status).toBe(404)
    expect((await get('?api=reset')).status).toBe(404)
    const put = new Request('https://app.example/', { method: 'DELETE', headers: { authorization: 'Bearer admin' } })
    expect((await admin(put)).status).toBe(405)
  })

  test('what is no request of fetch, as of a framework, is an error that says what to write', async () => {
    const { admin } = await setUp()
    // Express would get a Response, and send nothing.
    const request = { method: 'GET', url: '/ops', headers: {} }
    expect(() => admin(request as never)).toThrow(
      /^the admin handler takes a Request; got an object\. In Express, write .*getRequestListener\(admin\)/,
    )
  })

  test('a body that has been read before is an error that says so', async () => {
    const { admin, token, warnings } = await setUp({ authorize: () => true })
    const headers = { 'content-type': 'application/json', 'x-spillway-token': await token() }
    const post = (body?: string) =>
      new Request('https://app.example/?api=reset', { method: 'POST', headers, body: body ?? null })
    const read = post('{}')
    await read.text()
    // A body parser of Node leaves nothing to read.
    for (const request of [read, post()]) {
      const response = await admin(request)
      expect([response.status, await response.json()]).toEqual([400, { error: expect.stringContaining('body parser') }])
    }
    expect(warnings).toEqual([])
  })

  test('what is wrong with an option is in the log', async () => {
    const store = { take: async () => [], delete: async () => 0 }
    const { get, warnings } = await setUp({
      limiters: [rateLimiter({ name: 'api', quota: perMinute(1), store })],
    })
    expect((await get('?api=keys&policy=api')).status).toBe(500)
    expect(warnings.join()).toMatch(/the admin handler failed: QuotaError ERR_SPILLWAY_OPTION: .*list/)
  })

  test('a failure leaks no key', async () => {
    const { get, limiter, warnings } = await setUp()
    vi.spyOn(limiter, 'list').mockRejectedValue(new Error('cannot read 203.0.113.66'))
    const failing = await get('?api=keys&policy=api')
    expect([failing.status, await failing.text()]).toEqual([
      500,
      '{"error":"it failed; the log of the server says why"}',
    ])
    expect(warnings).toEqual(['spillway: the admin handler failed: Error'])
  })
})
