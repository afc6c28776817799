import assert from 'node:assert/strict'
import { type Decision, perMinute, perSecond, type Store } from '@spillway/core'
import { testByKey } from './adapter-by-key.ts'
import { testContexts } from './adapter-context.ts'
import { testWrittenCosts } from './adapter-costs.ts'
import { testCountedStatuses } from './adapter-counted.ts'
import { testDeniedAnswers } from './adapter-denied.ts'
import { testFailures } from './adapter-failures.ts'
import { testHeaders } from './adapter-headers.ts'
import { testKeySpellings } from './adapter-keys.ts'
import { testLateVerdicts } from './adapter-late.ts'
import { testSlots } from './adapter-slots.ts'
import { testTextSteps } from './adapter-steps.ts'
import { testPoliciesApart } from './adapter-stores.ts'
import { testWaiting } from './adapter-wait.ts'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { AdapterBounds, Mount, NeutralOptions, NeutralResponse, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

const OF_DRAFTS = ['ratelimit-policy', 'ratelimit', 'retry-after'] as const

/** The status and the three quota headers of a response. */
const reported = ({ status, headers }: NeutralResponse): readonly unknown[] => [
  status,
  ...OF_DRAFTS.map((name) => headers[name]),
]

/** Tests that an adapter behaves like all others in HTTP. */
export function testAdapter(test: TestFunction, mountIn: Mount, bounds: AdapterBounds = {}): void {
  const mount = (options: NeutralOptions, ...inner: NeutralOptions[]): Send | Promise<Send> =>
    mountIn(options, {
      timeout: new Promise(() => {}),
      inner,
      onHandled: () => {},
      besides: [],
      limited: (limit) => limit,
    })
  test('allows the quota, reports remaining units, and denies the rest with a problem document', async () => {
    const clock = fakeClock()
    const send = await mount({ quota: perMinute(2), store: modelStore(clock) })
    assert.deepEqual(reported(await send()), [200, '"default";q=2;w=60', '"default";r=1;t=30', undefined])
    assert.deepEqual(reported(await send()), [200, '"default";q=2;w=60', '"default";r=0;t=30', undefined])
    clock.advance(10_500)
    const denied = await send()
    assert.deepEqual(reported(denied), [429, '"default";q=2;w=60', '"default";r=0;t=20', '20'])
    assert.equal(denied.headers['content-type'], 'application/problem+json')
    assert.deepEqual(JSON.parse(denied.body), {
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'Policy "default" allows this request again in 20 seconds.',
      'violated-policies': ['default'],
      'retry-after-ms': 19_500,
    })
    clock.advance(19_500)
    assert.deepEqual(reported(await send()), [200, '"default";q=2;w=60', '"default";r=0;t=30', undefined])
  })

  // Users write `store: production ? redisStore(redis) : undefined`.
  test('uses an in-memory store if the store is undefined', async () => {
    const send = await mount({ quota: perMinute(1), store: undefined as unknown as Store })
    assert.deepEqual([(await send()).status, (await send()).status], [200, 429])
  })

  test('passes the decision to the handler', async () => {
    const send = await mount({ quota: perMinute(10), cost: 3, store: modelStore(fakeClock()) })
    const { rateLimit } = JSON.parse((await send()).body) as { rateLimit: Decision }
    assert.deepEqual(rateLimit, {
      allowed: true,
      policy: 'default',
      limit: 10,
      remaining: 7,
      cost: 3,
      retryAfterMs: 0,
      resetAfterMs: 18_000,
      replenishAfterMs: 6_000,
      delayMs: 0,
      violated: [],
    })
  })

  test('reports no wait if the cost never fits', async () => {
    const send = await mount({ quota: perMinute(10), cost: 'header:x-weight', store: modelStore(fakeClock()) })
    const denied = await send({ headers: { 'x-weight': '11' } })
    assert.deepEqual(reported(denied), [429, '"default";q=10;w=60', '"default";r=10', undefined])
    const problem = JSON.parse(denied.body) as Record<string, unknown>
    assert.equal(problem['retry-after-ms'], null)
    assert.equal(problem['detail'], 'This request costs 11 units, more than policy "default" ever allows at once.')
  })

  test('reads the cost from header and query within bounds, and uses the default cost if it is missing or invalid', async () => {
    for (const [cost, send] of [
      ['header:x-weight', (weight: string) => ({ headers: { 'X-Weight': weight } })],
      ['query:weight', (weight: string) => ({ path: `/?weight=${encodeURIComponent(weight)}` })],
    ] as const) {
      const app = await mount({
        quota: perMinute(100),
        cost,
        defaultCost: 2,
        maxCost: 20,
        store: modelStore(fakeClock()),
      })
      const left: number[] = []
      for (const weight of ['5', '50', '0', '-3', '1', ' ', '2.5', 'NaN', '٣']) {
        const { body } = await app(weight === '٣' && cost === 'header:x-weight' ? {} : send(weight))
        left.push((JSON.parse(body) as { rateLimit: Decision }).rateLimit.remaining)
      }
      assert.deepEqual(left, [95, 75, 73, 71, 70, 68, 65, 63, 61], cost)
    }
  })

  // Row 2 of the peers' bugs: the key is the client's X-Forwarded-For header, and 20 of 20 requests pass a limit of 2.
  test('counts clients by address, which no header can change', async () => {
    const send = await mount({ quota: perMinute(2), store: modelStore(fakeClock()) })
    const spoofed = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip']
    const statuses: number[] = []
    for (const header of spoofed) {
      const value = header === 'forwarded' ? `for=10.0.0.${statuses.length}` : `10.0.0.${statuses.length}`
      statuses.push((await send({ headers: { [header]: value } })).status)
    }
    assert.deepEqual(statuses, [200, 200, 429, 429, 429, 429])
  })

  test('does not count an allow list of addresses and networks, which no client can enter by a header', async () => {
    const [store, clients] = [modelStore(fakeClock()), ['198.51.100.7', '2001:db8::7', '203.0.113.7']]
    const listed = ['198.51.100.0/24', '2001:db8::7']
    const send = await mount({ quota: perMinute(1), store, skip: { ip: listed }, trustProxy: 1 })
    for (const client of clients) {
      const from = async () => reported(await send({ headers: { 'x-forwarded-for': `198.51.100.7, ${client}` } }))
      const first = await from()
      const second = await from()
      const free = [200, undefined, undefined, undefined]
      if (client !== '203.0.113.7') assert.deepEqual([first, second], [free, free])
      else assert.deepEqual([first[0], second[0]], [200, 429])
    }
    const trusting = await mount({ quota: perMinute(1), store: modelStore(fakeClock()), skip: { ip: listed } })
    const statuses = [1, 2].map(async () => (await trusting({ headers: { 'x-forwarded-for': '198.51.100.7' } })).status)
    assert.deepEqual((await Promise.all(statuses)).sort(), [200, 429])
  })

  test('counts by any selector, and by several without collisions', async () => {
    for (const [key, first, second] of [
      ['header:x-api-key', { headers: { 'x-api-key': 'a' } }, { headers: { 'X-API-Key': 'b' } }],
      ['header:host', { headers: { host: 'a.example' } }, { headers: { host: 'b.example' } }],
      ['query:user', { path: '/?user=a' }, { path: '/?user=b' }],
      ['cookie:sid', { headers: { cookie: 'x=1; sid=a' } }, { headers: { cookie: 'sid=b; x=1' } }],
      ['method', { method: 'GET' }, { method: 'POST' }],
      ['path', { path: '/a?x=1' }, { path: '/b?x=1' }],
      [
        ['header:x-a', 'header:x-b'],
        { headers: { 'x-a': 'ab', 'x-b': 'c' } },
        { headers: { 'x-a': 'a', 'x-b': 'bc' } },
      ],
    ] as const) {
      const send = await mount({ quota: perMinute(1), key, store: modelStore(fakeClock()) })
      const statuses = [await send(first), await send(first), await send(second), await send(second)].map(
        ({ status }) => status,
      )
      assert.deepEqual(statuses, [200, 429, 200, 429], String(key))
    }
  })

  // Rows 10 and 35 of the peers' bugs: if one policy denies, others have charged; each has a Retry-After of its own name.
  test('checks several policies all-or-nothing, with one set of headers', async () => {
    const clock = fakeClock()
    const send = await mount({
      policies: [
        { name: 'burst', quota: perSecond(1) },
        { name: 'daily "gold"', quota: perMinute(10), cost: 2 },
      ],
      store: modelStore(clock),
    })
    const policy = '"burst";q=1;w=1, "daily \\"gold\\"";q=10;w=60'
    assert.deepEqual(reported(await send()), [200, policy, '"burst";r=0;t=1, "daily \\"gold\\"";r=8;t=6', undefined])
    const denied = await send()
    assert.deepEqual(reported(denied), [429, policy, '"burst";r=0;t=1, "daily \\"gold\\"";r=8;t=6', '1'])
    assert.deepEqual((JSON.parse(denied.body) as Record<string, unknown>)['violated-policies'], ['burst'])
    clock.advance(1_000)
    assert.deepEqual(reported(await send())[2], '"burst";r=0;t=1, "daily \\"gold\\"";r=6;t=5')
  })

  test('sends the quota unit and the partition key, but not the client key', async () => {
    const send = await mount({
      quota: perMinute(100),
      key: 'header:x-api-key',
      cost: 10,
      unit: 'content-bytes',
      partition: (key) => Uint8Array.of(key.length, 255),
      store: modelStore(fakeClock()),
    })
    const answer = reported(await send({ headers: { 'x-api-key': 'ann' } }))
    const policy = '"default";q=100;w=60;qu="content-bytes";pk=:A/8=:'
    assert.deepEqual(answer, [200, policy, '"default";r=90;t=1;pk=:A/8=:', undefined])
  })

  test('sends only Retry-After if headers are off', async () => {
    const send = await mount({ quota: perMinute(1), headers: false, store: modelStore(fakeClock()) })
    assert.deepEqual(reported(await send()), [200, undefined, undefined, undefined])
    assert.deepEqual(reported(await send()), [429, undefined, undefined, '60'])
  })

  test('admits exactly the limit of many requests sent at once', async () => {
    const send = await mount({ quota: perMinute(10), store: modelStore(fakeClock()) })
    const answers = await Promise.all(Array.from({ length: 40 }, () => send()))
    assert.equal(answers.filter(({ status }) => status === 200).length, 10)
  })

  // Row 1 of the peers' bugs: a decision object that is reused for another client in the same tick.
  test('decides about concurrent clients independently', async () => {
    const options = { quota: perMinute(3), key: 'header:x-api-key' } as const
    const clients = Array.from({ length: 40 }, (_, i) => (i % 4 === 0 ? `victim ${i}` : 'abuser'))
    const alone = await mount({ ...options, store: modelStore(fakeClock()) })
    const crowd = await mount({ ...options, store: modelStore(fakeClock()) })
    const from = (client: string) => ({ headers: { 'x-api-key': client } })
    const expected: string[] = []
    for (const client of clients) expected.push(String([client, reported(await alone(from(client)))]))
    const answers = clients.map(async (client) => String([client, reported(await crowd(from(client)))]))
    // Requests on several connections arrive in any order.
    assert.deepEqual((await Promise.all(answers)).sort(), expected.sort())
  })

  test('counts HEAD and OPTIONS like any request, and denies HEAD without a body', async () => {
    const send = await mount({ quota: perMinute(1), store: modelStore(fakeClock()) })
    assert.equal((await send({ method: 'OPTIONS' })).status, 200)
    const denied = await send({ method: 'HEAD' })
    assert.deepEqual([denied.status, denied.body, denied.headers['retry-after']], [429, '', '60'])
  })

  testCountedStatuses(test, mount)
  testDeniedAnswers(test, mount)
  testKeySpellings(test, mount)
  testWrittenCosts(test, mount)
  testPoliciesApart(test, mount)
  testTextSteps(test, mount, bounds)
  testWaiting(test, mount)
  testHeaders(test, mount)
  testLateVerdicts(test, mountIn)
  testContexts(test, mountIn)
  testFailures(test, mountIn)
  testByKey(test, mountIn)
  testSlots(test, mountIn)
}
