import { fakeClock } from '@spillway/conformance'
import { perSecond, rateLimit } from '@spillway/fetch'
import { memoryStore } from '@spillway/memory'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Answer } from '../demo/http.ts'
import { BURST, RATE } from '../demo/servers.ts'
import { judge } from '../demo/verdict.ts'

// The demo checks the responses of its servers. These tests check that its verdict matches the present responses.

// It warns that a request of the demo's can cost more than there ever is, which is what the demo is about.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())

/** The response of a limiter like the demo's to a cost above its capacity. */
async function neverAnswered(): Promise<Answer> {
  const limit = rateLimit({
    name: 'demo',
    quota: perSecond(RATE, { burst: BURST }),
    cost: BURST + 2,
    store: memoryStore({ clock: fakeClock() }),
  })
  const response = await limit(() => new Response('Come in.'))(new Request('http://localhost/'))
  const { status, statusText, headers } = response
  return {
    sent: 0,
    received: 1,
    cost: BURST + 2,
    allowed: response.ok,
    left: BURST,
    wait: undefined,
    kept: undefined,
    status: `${status} ${statusText}`,
    headers,
    body: await response.text(),
  }
}

function brokenBy(answer: Answer): readonly string[] {
  const checks = judge([{ framework: 'fetch', client: 'weighted', answers: [answer] }])
  return checks.find(({ promise }) => promise.includes('never fit'))?.broken ?? ['it is not looked at']
}

describe('the verdict on a cost that never fits', () => {
  test('accepts the response of a limiter', async () => {
    expect(brokenBy(await neverAnswered())).toEqual([])
  })

  test.each<readonly [string, (answer: Answer) => Partial<Answer>]>([
    ['lets it in', () => ({ allowed: true })],
    ['says when to come back', () => ({ headers: new Headers({ 'Retry-After': '1' }) })],
    [
      'says a wait in the document',
      ({ body }) => ({ body: body.replace('"retry-after-ms":null', '"retry-after-ms":1') }),
    ],
    ['does not say why', ({ body }) => ({ body: JSON.stringify({ ...JSON.parse(body), detail: undefined }) })],
  ])('is not, where an answer %s', async (_, wrong) => {
    const answer = await neverAnswered()
    expect(brokenBy({ ...answer, ...wrong(answer) })).toHaveLength(1)
  })
})
