// Each client may send 100 requests at once and then 100 a minute, and read 50 pages of reports an hour.

import { pathToFileURL } from 'node:url'
import { serve } from '@hono/node-server'
import { perHour, perMinute, rateLimit } from '@spillway/hono'
import { Hono } from 'hono'

export const app = new Hono()

app.use(rateLimit({ quota: perMinute(100) }))

app.get('/', (c) => c.text(`${c.get('rateLimit')?.remaining} requests left\n`))

const reports = rateLimit({ name: 'reports', quota: perHour(50), cost: 'query:pages', maxCost: 50 })

app.get('/report', reports, (c) =>
  c.text(`${c.req.query('pages') ?? 1} pages, and ${c.get('rateLimit')?.remaining} left\n`),
)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  serve({ fetch: app.fetch, port: 3000 }, () => console.log('http://localhost:3000'))
}
