import assert from 'node:assert/strict'
import { perHour, perMinute, perSecond } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { faultyStore } from './faulty.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

const EXPOSED = 'access-control-expose-headers'

/** The preflight of a browser before a cross-origin request. */
const PREFLIGHT = {
  method: 'OPTIONS',
  headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
} as const

type MountAll = (options: NeutralOptions, ...inner: NeutralOptions[]) => Send | Promise<Send>

/** Tests the headers of several limiters, of a failing store, and for browsers. */
export function testHeaders(test: TestFunction, mount: MountAll): void {
  const limiter = (options: object): NeutralOptions =>
    ({ quota: perMinute(10), store: modelStore(fakeClock()), ...options }) as NeutralOptions

  test('distinguishes two limiters without a name', async () => {
    const send = await mount(limiter({}), limiter({ quota: perMinute(2) }))
    const { headers } = await send()
    assert.equal(headers['ratelimit-policy'], '"default";q=10;w=60, "default-2";q=2;w=60')
    assert.equal(headers['ratelimit'], '"default";r=9;t=6, "default-2";r=1;t=30')
  })

  // Reproduces a bug: headers had "default-2" and the problem document had "default", whose quota was not exceeded.
  test('uses the same name of an unnamed limiter in headers and problem documents', async () => {
    const one = { quota: perMinute(1) }
    const send = await mount(limiter({}), limiter({}), limiter(one))
    await send()
    const { status, headers, body } = await send()
    assert.deepEqual([status, /"default-3";r=0/.test(headers['ratelimit'] ?? '')], [429, true])
    const { detail, ...problem } = JSON.parse(body)
    assert.deepEqual(problem['violated-policies'], ['default-3'])
    assert.match(detail, /^Policy "default-3" allows this request again in 60 seconds/)
    const silent = await mount(limiter({ headers: 'draft-6' }), limiter({ ...one, headers: false }))
    await silent()
    assert.deepEqual(JSON.parse((await silent()).body)['violated-policies'], ['default-2'])
  })

  for (const [form, prefix] of [
    ['draft-6', 'ratelimit'],
    ['legacy-delta', 'x-ratelimit'],
  ] as const) {
    test(`reports the more restrictive of two limiters if a header form has room for one: ${form}`, async () => {
      const [rich, poor] = [limiter({ headers: form }), limiter({ quota: perMinute(2), headers: form })]
      for (const [first, second] of [
        [rich, poor],
        [poor, rich],
      ] as const) {
        // Each order needs its own counts.
        const send = await mount(
          { ...first, store: modelStore(fakeClock()) } as NeutralOptions,
          { ...second, store: modelStore(fakeClock()) } as NeutralOptions,
        )
        const { headers } = await send()
        const shown = ['limit', 'remaining', 'reset'].map((name) => headers[`${prefix}-${name}`])
        assert.deepEqual(shown, ['2', '1', '30'])
      }
    })
  }

  test('names the policy that paid: the spill policy, once the first one is empty', async () => {
    const policies = [
      { name: 'second', quota: perSecond(1), spill: 'extra' },
      { name: 'extra', quota: perMinute(1) },
    ]
    const send = await mount({ policies, store: modelStore(fakeClock()) } as NeutralOptions)
    const answers: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await send()
      answers.push([status, headers['ratelimit'], headers['retry-after']])
    }
    assert.deepEqual(answers, [
      [200, '"second";r=0;t=1', undefined],
      [200, '"extra";r=0;t=60', undefined],
      [429, '"second";r=0;t=1, "extra";r=0;t=60', '1'],
    ])
  })

  test('reports the more restrictive of two limiters in draft 7', async () => {
    const send = await mount(limiter({ quota: perMinute(2), headers: 'draft-7' }), limiter({ headers: 'draft-7' }))
    assert.equal((await send()).headers['ratelimit'], 'limit=2, remaining=1, reset=30')
  })

  // Reproduces a bug: without the feature for forms, the list was appended to the dictionary, which no parser takes. Hono had the
  // field of the outer limiter.
  test('sends RateLimit of the inner limiter if the outer one has it in another form', async () => {
    const two = { quota: perMinute(2) }
    const list = await mount(limiter({ headers: 'draft-7' }), limiter({ ...two, name: 'inner' }))
    assert.equal((await list()).headers['ratelimit'], '"inner";r=1;t=30')
    const dictionary = await mount(limiter({}), limiter({ ...two, headers: 'draft-7' }))
    assert.equal((await dictionary()).headers['ratelimit'], 'limit=2, remaining=1, reset=30')
  })

  // Reproduces a bug: q=1;w=1 was a hundred times too low.
  test('sends the rate of a bucket that is smaller than its rate', async () => {
    const send = await mount(limiter({ quota: perSecond(100, { burst: 1 }) }))
    const { headers } = await send()
    assert.deepEqual([headers['ratelimit-policy'], headers['ratelimit']], ['"default";q=100;w=1', '"default";r=0;t=1'])
  })

  test('sends Retry-After if the store does not answer', async () => {
    const store = faultyStore(modelStore(fakeClock()))
    const send = await mount(limiter({ store, onStoreError: 'deny', logger: { warn: () => {} } }))
    store.break('failing')
    const { status, headers } = await send()
    assert.deepEqual([status, headers['retry-after']], [503, '1'])
  })

  // Reproduces a bug: a denial had Retry-After: 20 beside reset=60. Drafts 6 and 7: both name the same moment.
  for (const [form, resetOf] of [
    ['draft-6', (headers) => headers['ratelimit-reset']],
    ['draft-7', (headers) => /reset=(\d+)$/.exec(headers['ratelimit'] ?? '')?.[1]],
    ['legacy-delta', (headers) => headers['x-ratelimit-reset']],
  ] as const satisfies readonly (readonly [
    string,
    (headers: Readonly<Record<string, string | undefined>>) => unknown,
  ])[]) {
    test(`reports the moment of Retry-After as the reset of a denial: ${form}`, async () => {
      const policies = [
        { name: 'hour', quota: perHour(4) },
        { name: 'minute', quota: perMinute(3) },
      ]
      const alone = await mount(limiter({ quota: perMinute(3), headers: form }))
      const together = await mount({ policies, headers: form, store: modelStore(fakeClock()) } as NeutralOptions)
      const behind = await mount(
        limiter({ quota: perHour(3), headers: form }),
        limiter({ quota: perMinute(2), headers: form }),
      )
      const spread = await mount(limiter({ quota: perMinute(3), headers: form, jitter: 0.5 }))
      const waits: unknown[] = []
      for (const send of [alone, together, behind, spread]) {
        let denied = await send()
        while (denied.status === 200) denied = await send()
        assert.equal(resetOf(denied.headers), denied.headers['retry-after'])
        waits.push(denied.headers['retry-after'])
      }
      assert.deepEqual(waits.slice(0, 3), ['20', '20', '30'])
    })
  }

  test('exposes to browsers exactly the headers that it writes', async () => {
    const send = await mount(limiter({ quota: perMinute(1), exposeHeaders: true }))
    assert.equal((await send()).headers[EXPOSED], 'RateLimit-Policy, RateLimit')
    const denied = await send()
    assert.deepEqual([denied.status, denied.headers[EXPOSED]], [429, 'RateLimit-Policy, RateLimit, Retry-After'])
    assert.equal((await (await mount(limiter({})))()).headers[EXPOSED], undefined)
    const silent = await mount(limiter({ quota: perMinute(1), headers: false, exposeHeaders: true }))
    assert.deepEqual([(await silent()).headers[EXPOSED], (await silent()).headers[EXPOSED]], [undefined, 'Retry-After'])
  })

  test('exposes each header of two limiters once', async () => {
    const send = await mount(
      limiter({ exposeHeaders: true }),
      limiter({ exposeHeaders: true, headers: ['draft-11', 'legacy-delta'] }),
    )
    const legacy = 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset'
    assert.equal((await send()).headers[EXPOSED], `RateLimit-Policy, RateLimit, ${legacy}`)
  })

  // A client could call a handler for all methods by requests that look like preflights.
  test('counts a preflight that a handler for all methods answers', async () => {
    for (const options of [{}, { countPreflight: true }]) {
      const send = await mount(limiter({ quota: perMinute(1), ...options }))
      const { status, headers } = await send(PREFLIGHT)
      assert.deepEqual([status, headers['ratelimit']], [200, '"default";r=0;t=60'])
      assert.deepEqual([(await send(PREFLIGHT)).status, (await send()).status], [429, 429])
    }
  })

  // If other requests passed as preflights, a handler for all methods would run uncounted.
  test('counts requests that only look like a preflight', async () => {
    for (const request of [
      { ...PREFLIGHT, method: 'POST' },
      { ...PREFLIGHT, headers: { origin: 'https://app.example' } },
      { ...PREFLIGHT, headers: { 'access-control-request-method': 'POST' } },
    ] as const) {
      const send = await mount(limiter({ quota: perMinute(1) }))
      assert.equal((await send(request)).headers['ratelimit'], '"default";r=0;t=60')
    }
  })
}
