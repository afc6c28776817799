import assert from 'node:assert/strict'
import { perMinute } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { Mount, NeutralOptions } from './mount.ts'
import type { TestFunction } from './runner.ts'

type Answer = ReturnType<NonNullable<NeutralOptions['onDenied']>>

const TEXT = 'text/plain; charset=utf-8'

/** What it returns; the status, the media type, the body, and a header of the answer. */
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

/** Tells stories of what `onDenied` returns, at once or later, and of what it does not. */
export function testDeniedAnswers(test: TestFunction, mount: (options: NeutralOptions) => ReturnType<Mount>): void {
  const deniedBy = async (onDenied: NonNullable<NeutralOptions['onDenied']>) => {
    const send = await mount({ quota: perMinute(1), store: modelStore(fakeClock()), onDenied })
    assert.equal((await send()).status, 200)
    const { status, headers, body } = await send()
    assert.deepEqual([headers['ratelimit'], headers['retry-after']], ['"default";r=0;t=60', '60'])
    return { status, headers, body }
  }

  test('answers a denied request as onDenied says, at once or later', async () => {
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

  test('answers with the problem document if onDenied returns nothing, at once or later', async () => {
    for (const onDenied of [() => {}, async () => {}]) {
      const { status, headers } = await deniedBy(onDenied)
      assert.deepEqual([status, headers['content-type']], [429, 'application/problem+json'])
    }
  })
}
