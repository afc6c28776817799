import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type MemoryStore, memoryStore, perMinute, rateLimiter } from '@spillway/memory'
import express from 'express'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ensureChromium } from '../../../scripts/ensure.mjs'
import { type AdminHandler, type AdminOptions, type AuditEvent, adminHandler } from '../src/index.ts'

const HOSTILE = '<img src=x onerror="document.title=1">\u001b[2J'

async function setUp(options: Partial<AdminOptions> = {}) {
  const store: MemoryStore = memoryStore()
  const limiter = rateLimiter({ name: 'api', quota: perMinute(10), blocks: true, store })
  for (const [key, units] of [
    ['203.0.113.66', 10],
    [HOSTILE, 7],
    ['k'.repeat(15_000), 3],
  ] as const) {
    await limiter.consume(key, units)
  }
  const audited: AuditEvent[] = []
  const warnings: string[] = []
  const admin = adminHandler({
    limiters: [limiter],
    authorize: (request) => request.headers.get('authorization') === 'Bearer admin',
    audit: (event) => void audited.push(event),
    logger: { warn: (message) => warnings.push(message) },
    ...options,
  })
  const get = (query: string, headers: Record<string, string> = {}) =>
    admin(
      new Request(`https://app.example/any/where${query}`, { headers: { authorization: 'Bearer admin', ...headers } }),
    )
  const post = (body: unknown, headers: Record<string, string> = {}, api = 'reset') =>
    admin(
      new Request(`https://app.example/any/where?api=${api}`, {
        method: 'POST',
        headers: { authorization: 'Bearer admin', 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    )
  const token = async () => ((await (await get('?api=state')).json()) as { token: string }).token
  const keys = async () =>
    ((await (await get('?api=keys&policy=api')).json()) as { keys: { key: string; ref: string; remaining: number }[] })
      .keys
  return { admin, audited, get, keys, limiter, post, token, warnings }
}

describe('who may use it', () => {
  test.each<[string, unknown]>([
    ['false', () => false],
    ['a promise of false', async () => false],
    ['a truthy value that is not true', () => 'yes'],
    ['a promise of an object', async () => ({ admin: true })],
    ['nothing', () => undefined],
    [
      'an error',
      () => {
        throw new Error('no session for 203.0.113.66')
      },
    ],
    ['a rejection', () => Promise.reject(new Error('no session for 203.0.113.66'))],
  ])('no request, if authorize returns %s', async (_, authorize) => {
    const { admin, get, post, limiter, warnings } = await setUp({ authorize: authorize as AdminOptions['authorize'] })
    for (const query of ['', '?api=state', '?api=keys&policy=api']) expect((await get(query)).status).toBe(403)
    expect((await post({ policy: 'api', key: '203.0.113.66', confirm: true })).status).toBe(403)
    expect((await admin(new Request('https://app.example/'))).status).toBe(403)
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 0 })
    expect(warnings.join()).not.toContain('203.0.113.66')
  })

  test('is built only with authorize, and with options that it knows', async () => {
    const limiters = [rateLimiter({ name: 'api', quota: perMinute(1) })]
    const authorize = () => true
    expect(() => adminHandler({ limiters } as never)).toThrow('authorize must be a function')
    expect(() => adminHandler({ limiters, authorise: authorize } as never)).toThrow('Did you mean "authorize"?')
    expect(() => adminHandler({ limiters, authorize: true } as never)).toThrow('got true')
    expect(() => adminHandler({ limiters: [], authorize })).toThrow('one limiter or more')
    expect(() => adminHandler({ limiters: [{}], authorize } as never)).toThrow('built by rateLimiter')
    expect(() => adminHandler({ limiters: [...limiters, ...limiters], authorize })).toThrow(
      'two policies are named "api"',
    )
    expect(() => adminHandler({ limiters, authorize, secret: undefined } as never)).toThrow('secret must be text')
  })
})

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

describe('in Chromium, mounted in Express', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] })
  }, 60_000)
  afterAll(() => browser?.close())

  const serve = async (admin: AdminHandler) => {
    const app = express()
    app.use('/ops/limits', getRequestListener(admin))
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const page = await browser.newPage()
    const close = async () => {
      await page.close()
      server.closeAllConnections()
      server.close()
    }
    return { page, close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/limits` }
  }

  test('the page works with policies of any name', async () => {
    const store = memoryStore()
    const names = ['constructor', '__proto__']
    const limiters = names.map((name) => rateLimiter({ name, quota: perMinute(10), blocks: true, store }))
    for (const limiter of limiters) await limiter.consume('203.0.113.66')
    const { page, url, close } = await serve(adminHandler({ limiters, authorize: () => true }))
    await page.goto(url)
    for (const name of names) {
      await page.locator('#policy').selectOption(name)
      await page.locator('#keys tr').getByRole('button', { name: 'Block', exact: true }).waitFor()
    }
    expect(await page.locator('#policies tr').count()).toBe(2)
    await close()
  }, 60_000)

  test('the page lists masked keys, runs nothing of theirs, and resets one after confirmation', async () => {
    const { admin, limiter } = await setUp({ authorize: () => true })
    const { page, url, close } = await serve(admin)
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', ({ message }) => complaints.push(message))
    const answers: (string | undefined)[] = [undefined, '', undefined, '1y', '2h', '', '']
    page.on('dialog', (dialog) => {
      const answer = answers.shift()
      return answer === undefined ? dialog.dismiss() : dialog.accept(answer)
    })
    await page.goto(url)
    const rows = page.locator('#keys tr')
    await rows.nth(2).waitFor()
    expect(await rows.first().textContent()).toContain('20…66')
    expect(await page.title()).toBe('Rate limits')
    expect(await rows.nth(2).locator('button').count()).toBe(0)
    const button = (name: string) => rows.first().getByRole('button', { name, exact: true })
    await button('Reset').click()
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 0 })
    await button('Reset').click()
    // `waitForFunction` evaluates text, which the page's policy forbids.
    await page.getByText('Reset 20…66.').waitFor()
    expect(await rows.count()).toBe(2)
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 10 })
    await button('Block').click()
    expect(await limiter.peek(HOSTILE)).toMatchObject({ allowed: true })
    await button('Block').click()
    await page.getByText('such as \'10s\'; got "1y"').waitFor()
    await button('Block').click()
    await page.getByText('Block <i').waitFor()
    expect(await limiter.peek(HOSTILE)).toMatchObject({ allowed: false, policy: 'api (blocked)' })
    expect(await rows.first().textContent()).toContain('120 min')
    await page.locator('#blocked').check()
    await page.getByText('1 examined').waitFor()
    expect(await rows.count()).toBe(1)
    await button('Unblock').click()
    await page.getByText('1 examined').waitFor()
    await page.getByText('Unblock <i').waitFor()
    expect([await rows.count(), (await limiter.peek(HOSTILE)).allowed]).toEqual([0, true])
    // The duration that was wrong.
    expect(complaints).toEqual([expect.stringContaining('400 (Bad Request)')])
    await close()
  }, 60_000)
})
