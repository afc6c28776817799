import { perMinute, rateLimiter } from '@spillway/memory'
import { describe, expect, test } from 'vitest'
import { HOSTILE, setUp } from './admin.ts'

describe('reset', () => {
  test('resets a listed key that it has not shown, after the audit', async () => {
    const { audited, keys, limiter, post, token } = await setUp()
    const [first] = await keys()
    const headers = {
      'x-spillway-token': await token(),
      'sec-fetch-site': 'same-origin',
      origin: 'https://app.example',
    }
    expect(await (await post({ ref: first?.ref, confirm: true }, headers)).json()).toEqual({ reset: true })
    expect(audited).toMatchObject([{ action: 'reset', key: '203.0.113.66', policies: ['api'] }])
    expect((await limiter.inspect('203.0.113.66'))[0]?.kept).toBe(false)
    expect(await (await post({ policy: 'api', key: HOSTILE, confirm: true }, headers)).json()).toEqual({ reset: true })
  })

  test.each<[string, Record<string, string>, unknown, number]>([
    ['from another site', { 'sec-fetch-site': 'cross-site' }, {}, 403],
    ['from another subdomain', { 'sec-fetch-site': 'same-site' }, {}, 403],
    ['from another origin', { origin: 'https://evil.example' }, {}, 403],
    ['from an opaque origin', { origin: 'null' }, {}, 403],
    ['of a form', { 'content-type': 'text/plain' }, {}, 403],
    ['without a token', { 'x-spillway-token': '' }, {}, 403],
    ['without confirmation', {}, { confirm: 'true' }, 400],
    ['with a made-up reference', {}, { ref: 'AAAA'.repeat(20) }, 404],
    ['of another policy', {}, { policy: 'none' }, 404],
    ['without a key', {}, { key: '' }, 404],
    ['with a body that is no JSON', {}, '{', 400],
    ['with a body of 100 kB', {}, 'x'.repeat(100_000), 413],
  ])('is denied %s', async (_, headers, body, status) => {
    const { audited, limiter, post, token } = await setUp()
    const sent =
      typeof body === 'string' ? body : { policy: 'api', key: '203.0.113.66', confirm: true, ...(body as object) }
    const response = await post(sent, { 'x-spillway-token': await token(), ...headers })
    expect([response.status, audited]).toEqual([status, []])
    expect(await response.text()).not.toContain('203.0.113.66')
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 0 })
  })

  // As nginx sends it with `proxy_set_header Host $host:$server_port`: it was denied.
  test('accepts a Host with the default port of the page', async () => {
    const { admin, post, token } = await setUp()
    const headers = { 'x-spillway-token': await token(), origin: 'https://app.example' }
    const body = JSON.stringify({ policy: 'api', key: '203.0.113.66', confirm: true })
    const change = (url: string, more: Record<string, string> = {}) =>
      admin(
        new Request(url, {
          method: 'POST',
          headers: { authorization: 'Bearer admin', 'content-type': 'application/json', ...headers, ...more },
          body,
        }),
      )
    expect((await change('http://app.example:443/?api=reset')).status).toBe(200)
    expect((await change('http://app.example:8443/?api=reset')).status).toBe(403)
    expect((await change('http://app.example:443/?api=reset', { origin: 'https://app.example:8443' })).status).toBe(403)
    expect(await (await change('http://127.0.0.1:3000/?api=reset')).json()).toEqual({
      error:
        'the request comes from another origin: its Origin is app.example, its Host is 127.0.0.1:3000. A proxy must pass Host on',
    })
    expect((await post(body, headers)).status).toBe(200)
  })

  test.each([
    ['block', { duration: '1h' }, 3_600_000],
    ['unblock', {}, 0],
  ])('%s needs the same, and is audited before', async (api, more, blockedMs) => {
    const { audited, keys, limiter, post, token } = await setUp()
    await limiter.block('203.0.113.66', '7d')
    const before = (await limiter.inspect('203.0.113.66'))[0]?.blockedMs as number
    const [first] = await keys()
    expect(first).toMatchObject({ key: '20…66', blockedMs: expect.closeTo(before, -4) })
    const body = { ref: first?.ref, confirm: true, ...more }
    const good = { 'x-spillway-token': await token() }
    for (const headers of [
      { ...good, 'sec-fetch-site': 'cross-site' },
      { ...good, origin: 'https://evil.example' },
      {},
    ])
      expect((await post(body, headers, api)).status).toBe(403)
    expect((await post({ ...body, confirm: 1 }, good, api)).status).toBe(400)
    expect([audited, (await limiter.peek('203.0.113.66')).allowed]).toEqual([[], false])
    if (api === 'block') await limiter.unblock('203.0.113.66')
    expect(await (await post(body, good, api)).json()).toEqual({ [api]: true })
    expect(audited).toMatchObject([{ action: api, key: '203.0.113.66', policies: ['api'], ...more }])
    const after = (await limiter.inspect('203.0.113.66'))[0]?.blockedMs as number
    expect([after <= blockedMs, after > blockedMs - 60_000]).toEqual([true, true])
  })

  test('says why it cannot block: a wrong duration, or a limiter without blocks', async () => {
    const { audited, limiter, post, token } = await setUp()
    const headers = { 'x-spillway-token': await token() }
    const target = { policy: 'api', key: '203.0.113.66', confirm: true }
    for (const duration of [undefined, '0m', -1, '1y', 'x'.repeat(60_000)]) {
      const answer = await post({ ...target, duration }, headers, 'block')
      expect([answer.status, (await answer.text()).length < 400]).toEqual([400, true])
    }
    expect((await limiter.inspect('203.0.113.66'))[0]?.blockedMs).toBe(0)
    const plain = await setUp({ limiters: [rateLimiter({ name: 'plain', quota: perMinute(1) })] })
    const answer = await plain.post(
      { ...target, policy: 'plain', duration: '1h' },
      { 'x-spillway-token': await plain.token() },
      'block',
    )
    expect(await answer.json()).toEqual({ error: 'this limiter cannot block keys: build it with blocks: true' })
    expect([audited, plain.audited]).toEqual([[], []])
  })

  test('lists blocked keys, masked', async () => {
    const { get, limiter } = await setUp()
    await limiter.block('198.51.100.7', '1h')
    const { keys } = (await (await get('?api=keys&policy=api&blocked=true')).json()) as { keys: unknown[] }
    expect(keys).toMatchObject([{ key: '19….7', remaining: 10 }])
  })

  test.each(['{', '[1]', '"x"', 'null'])('says that the body %s is no JSON object', async (body) => {
    const { post, token } = await setUp()
    const answer = await post(body, { 'x-spillway-token': await token() })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('must be a JSON object')])
  })

  test('does nothing that cannot be audited', async () => {
    const { limiter, post, token } = await setUp({ audit: () => Promise.reject(new Error('disk is full')) })
    const response = await post(
      { policy: 'api', key: '203.0.113.66', confirm: true },
      { 'x-spillway-token': await token() },
    )
    expect(response.status).toBe(500)
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 0 })
  })

  test('processes with one secret accept the references and tokens of each other', async () => {
    const secret = 'a secret of more than 16 characters'
    const [one, two, other] = [await setUp({ secret }), await setUp({ secret }), await setUp()]
    const [key] = await one.keys()
    const reset = async ({ post }: typeof one, token: string) =>
      (await post({ ref: key?.ref, confirm: true }, { 'x-spillway-token': token })).status
    expect(await reset(two, await one.token())).toBe(200)
    expect([await reset(other, await one.token()), await reset(other, await other.token())]).toEqual([403, 404])
  })
})
