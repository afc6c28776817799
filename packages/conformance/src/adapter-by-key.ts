import assert from 'node:assert/strict'
import { penalty, perMinute } from '@spillway/core'
import type { ByKey } from '@spillway/core/http'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { Mount, NeutralOptions, NeutralRequest, NeutralResponse } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** Requests by a selector, with the text that stands for their client. */
const selectors: readonly (readonly [
  key: string | readonly string[],
  text: string | readonly string[],
  NeutralRequest,
])[] = [
  ['header:x-user', 'ann', { headers: { 'X-User': 'ann' } }],
  ['query:user', 'ann', { path: '/?user=a%6En' }],
  ['cookie:sid', 'ann', { headers: { cookie: 'sid="ann"' } }],
  ['method', 'post', { method: 'POST' }],
  ['path', '/Login/', { path: '/login?x=1' }],
  [['header:x-user', 'ip'], ['ann', '2001:db8:1:2::9'], { headers: { 'x-user': 'ann' } }],
]

const peeked = async (limit: ByKey): Promise<readonly unknown[]> => {
  const { allowed, policy, retryAfterMs } = await limit.peek('2001:db8:1:2::7')
  return [allowed, policy, retryAfterMs]
}

/** Tests that the counts of a key are read and changed outside of requests, by the text of its selectors. */
export function testByKey(test: TestFunction, mountIn: Mount): void {
  const mount = async (options: object) => {
    const limits: ByKey[] = []
    const scene = { timeout: new Promise<void>(() => {}), inner: [], onHandled: () => {}, besides: ['byKey'] }
    const limited = <T extends ByKey>(limit: T): T => {
      limits.push(limit)
      return limit
    }
    const common = { store: modelStore(fakeClock()), trustProxy: 1 }
    const send = await mountIn({ ...common, ...options } as unknown as NeutralOptions, { ...scene, limited })
    const sendAs = (request: NeutralRequest = {}): Promise<NeutralResponse> =>
      send({ ...request, headers: { 'x-forwarded-for': '2001:db8:1:2::7', ...request.headers } })
    const status = async (request?: NeutralRequest): Promise<number> => (await sendAs(request)).status
    return { limit: limits[0] as ByKey, send: sendAs, status }
  }

  test('peeks at, charges and resets an address by its network', async () => {
    const { limit, status } = await mount({ quota: perMinute(3) })
    assert.deepEqual([await status(), await status()], [200, 200])
    const peeked = await limit.peek('2001:db8:1:2:ffff::1')
    assert.deepEqual([peeked.allowed, peeked.remaining, peeked.policy], [true, 1, 'default'])
    assert.equal((await limit.charge('2001:db8:1:2::1')).remaining, 0)
    assert.equal((await limit.peek('2001:db8:1:2::7')).allowed, false)
    assert.equal(await status(), 429)
    assert.equal(await limit.reset('203.0.113.9'), false)
    assert.equal(await limit.reset('2001:db8:1::/56'), true)
    assert.equal((await limit.peek('2001:db8:1:2::7')).remaining, 3)
    assert.equal(await status(), 200)
    assert.equal((await limit.charge('2001:db8:1:0:0:0:0:0/56', 5)).retryAfterMs, 0)
    assert.equal(await status(), 429)
  })

  // Reproduces a gap: tests and admin pages built a second limiter of the same quota for these.
  test('refunds, inspects, lists and resets all keys', async () => {
    const { limit, status } = await mount({ quota: perMinute(2), blocks: true })
    assert.deepEqual([await status(), await status(), await status()], [200, 200, 429])
    assert.equal((await limit.refund('2001:db8:1:2::1')).remaining, 1)
    assert.equal(await status(), 200)
    const [inspection, ...others] = await limit.inspect('2001:db8:1:2::1')
    assert.deepEqual([inspection?.policy, inspection?.decision.remaining, others], ['default', 0, []])
    const { keys } = await limit.list()
    assert.deepEqual(
      keys.map(({ key, decision }) => [key, decision.remaining]),
      [['2001:db8:1:0:0:0:0:0/56', 0]],
    )
    await limit.block('203.0.113.9', '1h')
    assert.equal((await limit.list({ blocked: true })).keys.length, 1)
    assert.equal(await limit.resetAll(), 2)
    assert.deepEqual([await status(), (await limit.list({ blocked: true })).keys], [200, []])
  })

  for (const [key, text, request] of selectors) {
    test(`resets a client of ${[key].flat().join(' and ')}, and no other`, async () => {
      const { limit, status } = await mount({ quota: perMinute(1), key })
      assert.deepEqual([await status(request), await status(request)], [200, 429])
      assert.equal(await limit.reset(typeof text === 'string' ? `${text}x` : [...text.slice(0, -1), '::1']), false)
      assert.equal(await status(request), 429)
      assert.equal(await limit.reset(text), true)
      assert.equal(await status(request), 200)
    })
  }

  test('blocks and unblocks an address by its network, and no other', async () => {
    const { limit, send } = await mount({ quota: perMinute(3), blocks: true })
    assert.equal((await send()).status, 200)
    await limit.block('2001:db8:1:2:ffff::1', '1h')
    const denied = await send()
    assert.equal(denied.status, 429)
    assert.equal(denied.headers['retry-after'], '3600')
    const { type, ...problem } = JSON.parse(denied.body) as Record<string, unknown>
    assert.equal(type, 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected')
    assert.deepEqual(problem['violated-policies'], ['default (blocked)'])
    assert.equal((await send({ headers: { 'x-forwarded-for': '203.0.113.9' } })).status, 200)
    assert.deepEqual(await peeked(limit), [false, 'default (blocked)', 3_600_000])
    await limit.unblock('2001:db8:1::/56')
    assert.deepEqual(await peeked(limit), [true, 'default', 0])
    assert.equal((await send()).status, 200)
  })

  for (const [key, text, request] of selectors) {
    test(`blocks a client of ${[key].flat().join(' and ')}, and no other`, async () => {
      const { limit, status } = await mount({ quota: perMinute(5), key, blocks: true })
      await limit.block(typeof text === 'string' ? `${text}x` : [...text.slice(0, -1), '::1'], '1h')
      assert.equal(await status(request), 200)
      await limit.block(text, '1h')
      assert.equal(await status(request), 429)
      await limit.unblock(text)
      assert.equal(await status(request), 200)
    })
  }

  test('blocks by a penalty without the option, and else says that it is missing', async () => {
    const login = await mount({ quota: penalty({ after: 5, within: '15m', block: '15m' }) })
    await login.limit.block('2001:db8:1:2::7', '7d')
    assert.equal(await login.status(), 429)
    const { limit, status } = await mount({ quota: perMinute(5) })
    await assert.rejects(limit.block('2001:db8:1:2::7', '7d'), /Build it with blocks: true\./)
    await assert.rejects(limit.unblock('2001:db8:1:2::7'), /Build it with blocks: true\./)
    assert.equal(await status(), 200)
  })

  test('names one of several policies with different keys', async () => {
    const { limit, status } = await mount({
      policies: [
        { name: 'address', quota: perMinute(10) },
        { name: 'user', quota: () => perMinute(2), key: () => 'ann' },
      ],
    })
    assert.deepEqual([await status(), await status(), await status()], [200, 200, 429])
    await assert.rejects(limit.reset('ann'), /Name one of "address", "user": reset\(key, \{ policy: "address" \}\)/)
    await assert.rejects(limit.peek('ann', { policy: 'user' }), /\{ quota: perMinute\(100\) \}/)
    const peeked = await limit.peek('ann', { policy: 'user', quota: perMinute(2) })
    assert.deepEqual([peeked.policy, peeked.remaining], ['user', 0])
    assert.equal((await limit.peek('2001:db8:1:2::7', { policy: 'address' })).remaining, 8)
    assert.equal(await limit.reset('ann', { policy: 'user' }), true)
    assert.equal(await status(), 200)
  })
}
