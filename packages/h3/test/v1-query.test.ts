import { createServer } from 'node:http'
import { fakeClock, sendTo } from '@spillway/conformance'
import { createApp, eventHandler, getQuery, getRequestURL, toNodeListener } from 'h3-1'
import { expect, test } from 'vitest'
import { decisionOf, memoryStore, perMinute, type RateLimitOptions, rateLimit } from '../src/v1/index.ts'

/** What the handler answers: the units left, and the parameter `rows` as getQuery and a URL parser read it. */
type Answer = readonly [remaining: number, query: unknown, parsed: string | null]

async function serve(options: Pick<RateLimitOptions, 'cost' | 'key'>): Promise<(path: string) => Promise<Answer>> {
  const limit = rateLimit({ quota: perMinute(100), store: memoryStore({ clock: fakeClock() }), ...options })
  const handler = eventHandler((event) => [
    decisionOf(event)?.remaining,
    getQuery(event)['rows'] ?? null,
    getRequestURL(event).searchParams.get('rows'),
  ])
  const send = await sendTo(createServer(toNodeListener(createApp().use(limit).use(handler))))
  return async (path) => JSON.parse((await send({ path })).body)
}

// Reproduces a bug: getQuery ignores equals signs before a name, and URL parsers do not. The request cost 1.
test.each([
  ['/?rows=60', '60', '60'],
  ['/?=rows=60', '60', null],
  ['/?x=1&==r%6fws=60', '60', null],
  ['/?rows=1&=rows=60', ['1', '60'], '1'],
  ['/?rows==60', '=60', '=60'],
  ['/??rows=60', null, null],
  ['/#?rows=60', null, null],
  ['//a?rows=1@b?rows=60', '60', '1@b?rows=60'],
])('charges the most that a handler reads in %s', async (path, query, parsed) => {
  const ask = await serve({ cost: 'query:rows' })
  const isRead = JSON.stringify([query, parsed]).includes('"60"')
  expect(await ask(path)).toEqual([isRead ? 40 : 99, query, parsed])
})

// Reproduces a bug: the first name begins with a question mark for handlers, and the second is the one that they read. The
// client chose a new key for each request.
test.each([
  ['/??user=', '&=user=ann'],
  ['/??user=', ''],
  ['/?=user=', ''],
  ['/#?user=', ''],
  ['//a?user=', '@b?user=ann'],
])('takes no key from a parameter that only some read: %sUSER%s', async (before, after) => {
  const ask = await serve({ key: 'query:user' })
  const remaining: number[] = []
  for (const user of ['bob', 'eve']) remaining.push((await ask(before + user + after))[0])
  expect(remaining).toEqual([99, 98])
})
