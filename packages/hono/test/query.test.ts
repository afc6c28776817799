import { fakeClock } from '@spillway/conformance'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { decisionOf, memoryStore, perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

/** An app whose handler answers with the units left, and with the parameter `rows` as it reads it. */
function appWith(options: Pick<RateLimitOptions, 'cost' | 'key'>): Hono {
  const app = new Hono()
  app.use(rateLimit({ quota: perMinute(100), store: memoryStore({ clock: fakeClock() }), ...options }))
  app.get('/', (c) => c.json([decisionOf(c)?.remaining, c.req.query('rows')]))
  return app
}

const answerTo = async (app: Hono, query: string): Promise<readonly [remaining: number, rows?: string]> =>
  (
    await app.request(`http://localhost/${query}`, {}, { incoming: { socket: { remoteAddress: '203.0.113.7' } } })
  ).json()

// Reproduces a bug: before Hono 4.10, `c.req.query(name)` finds a parameter behind a second question mark, and
// `c.req.queries(name)` does not. The request cost 1.
test.each(['?rows=60', '??rows=60', '?x=1?rows=60', '?x=1#&rows=60'])(
  'charges what a handler reads in %s',
  async (query) => {
    const [remaining, rows] = await answerTo(appWith({ cost: 'query:rows' }), query)
    // Of a spelling that another version of Hono reads, the cost may be more.
    expect([rows ? Number(rows) : 1, 60]).toContain(100 - remaining)
  },
)

test('charges the most that any handler can read', async () => {
  expect((await answerTo(appWith({ cost: 'query:rows' }), '?x=1?rows=1&rows=60'))[0]).toBe(40)
})

// Otherwise a client could choose its key by a parameter that handlers which parse the URL do not see.
test.each(['??user=', '?x=1?user=', '?x=1#&user='])(
  'takes no key from a parameter that only some read: %s',
  async (query) => {
    const app = appWith({ key: 'query:user' })
    const remaining: number[] = []
    for (const user of ['ann', 'bob']) remaining.push((await answerTo(app, query + user))[0])
    expect(remaining).toEqual([99, 98])
  },
)

test.each(['?user=', '?next=/a?b=c&user=', 'AT&T?user=', '?user=x&next=/a?b=c&user='])(
  'takes the key that all read: %s',
  async (query) => {
    const app = appWith({ key: 'query:user' })
    app.get('/AT&T', (c) => c.json([decisionOf(c)?.remaining]))
    const remaining: number[] = []
    for (const user of ['ann', 'bob']) remaining.push((await answerTo(app, query + user))[0])
    expect(remaining).toEqual(query.startsWith('?user=x') ? [99, 98] : [99, 99])
  },
)

// A handler reads "ann" or "ann?x", depending on the version of Hono.
test.each(['?user=%?x', '?user=%&user=%?x', '?user=%#', '?user=%?user=%'])(
  'takes no key from a value that some read longer: %s',
  async (query) => {
    const app = appWith({ key: 'query:user' })
    const remaining: number[] = []
    for (const user of ['ann', 'bob']) remaining.push((await answerTo(app, query.replaceAll('%', user)))[0])
    expect(remaining).toEqual(query.endsWith('#') ? [99, 99] : [99, 98])
  },
)
