import assert from 'node:assert/strict'
import { perMinute } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { Mount, NeutralOptions } from './mount.ts'
import type { TestFunction } from './runner.ts'

type Answer = ReturnType<NonNullable<NeutralOptions['onDenied']>>

const TEXT = 'text/plain; charset=utf-8'

/** The result of `onDenied`; then the expected status, media type, body and header. */
const answers: readonly (readonly [returned: Answer, number, string, string, string?])[] = [
  ['Slow down.', 429, TEXT, 'Slow down.'],
  [{ status: 503, body: { error: 'busy' } }, 503, 'application/json', '{"error":"busy"}'],
  [
    { body: '<p>busy</p>', contentType: 'text/html', headers: { 'X-Reason': 'full' } },
    429,
    'text/html',
    '<p>busy</p>',
    'full',
  ],
  [{ body: '<p>busy</p>', headers: [['content-type', 'text/html']] }, 429, 'text/html', '<p>busy</p>'],
]

/** Tests the results of `onDenied`: a response or nothing, synchronous or as a promise. */
export function testDeniedAnswers(test: TestFunction, mount: (options: NeutralOptions) => ReturnType<Mount>): void {
  const deniedBy = async (onDenied: NonNullable<NeutralOptions['onDenied']>) => {
    const send = await mount({ quota: perMinute(1), store: modelStore(fakeClock()), onDenied })
    assert.equal((await send()).status, 200)
    const { status, headers, body } = await send()
    assert.deepEqual([headers['ratelimit'], headers['retry-after']], ['"default";r=0;t=60', '60'])
    return { status, headers, body }
  }

  // A limit of 0, as of a suspended plan, was an error of each request.
  test('denies all requests of a quota without units, and announces no wait', async () => {
    const send = await mount({ quota: () => perMinute(0), name: 'plan', store: modelStore(fakeClock()) })
    for (let i = 0; i < 2; i++) {
      const { status, headers, body } = await send()
      assert.equal(status, 429)
      const { 'ratelimit-policy': policy, ratelimit, 'retry-after': wait } = headers
      assert.deepEqual([policy, ratelimit, wait], ['"plan";q=0;w=60', '"plan";r=0', undefined])
      const { detail, 'retry-after-ms': waitMs } = JSON.parse(body) as Record<string, unknown>
      assert.deepEqual([detail, waitMs], ['Policy "plan" allows no requests.', null])
    }
  })

  test('sends the response that onDenied returns, synchronously or as a promise', async () => {
    for (const [returned, ...expected] of answers) {
      for (const onDenied of [() => returned, async () => returned]) {
        const { status, headers, body } = await deniedBy(onDenied)
        assert.deepEqual(
          [status, headers['content-type'], body, headers['x-reason']],
          [...expected, undefined].slice(0, 4),
        )
      }
    }
  })

  // Adapters that answer with a Response threw: it accepts no body with these statuses, not even an empty one.
  test('sends a status that has no body', async () => {
    for (const status of [204, 205, 304]) {
      for (const body of [{}, { body: '' }, { body: 'dropped' }]) {
        const answer = await deniedBy(() => ({ status, ...body }))
        assert.deepEqual([answer.status, answer.body], [status, ''])
      }
    }
  })

  // Reproduces a bug: fetch sent two Retry-After, h3 sent its own, and others sent the last of several cookies.
  test('sends the headers of onDenied instead of its own, in any case, and all of its cookies', async () => {
    const headers = [
      ['retry-after', 5],
      ['Set-Cookie', 'a=1'],
      ['Vary', 'Origin'],
      ['set-cookie', 'b=2'],
      ['vary', 'Accept'],
    ] as const
    const send = await mount({ quota: perMinute(1), store: modelStore(fakeClock()), onDenied: () => ({ headers }) })
    await send()
    const denied = await send()
    const expected = ['5', 'Origin, Accept', '"default";r=0;t=60', 'application/problem+json']
    assert.deepEqual(
      ['retry-after', 'vary', 'ratelimit', 'content-type'].map((name) => denied.headers[name]),
      expected,
    )
    assert.equal(denied.headers['set-cookie'], 'a=1,b=2')
  })

  test('sends the problem document if onDenied returns nothing, synchronously or as a promise', async () => {
    for (const onDenied of [() => {}, async () => {}]) {
      const { status, headers } = await deniedBy(onDenied)
      assert.deepEqual([status, headers['content-type']], [429, 'application/problem+json'])
    }
  })
}
