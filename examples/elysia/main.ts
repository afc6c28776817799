// Each client may send 100 requests at once and then 100 a minute, and try to log in 5 times a minute. Invalid requests count, too.

import { pathToFileURL } from 'node:url'
import { node } from '@elysiajs/node'
import { decisionOf, perMinute, rateLimit } from '@spillway/elysia'
import { Elysia, t } from 'elysia'

const limit = rateLimit({
  policies: [
    { name: 'requests', quota: perMinute(100) },
    { name: 'login', quota: perMinute(5), match: { method: 'POST', path: '/login' } },
  ],
})

export const app = new Elysia({ adapter: node() })
  .use(limit)
  .get('/', ({ request }) => `${decisionOf(request)?.remaining} requests left\n`)
  .post('/login', ({ body }) => `Hello, ${body.name}\n`, { body: t.Object({ name: t.String(), secret: t.String() }) })

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) app.listen(3000)
