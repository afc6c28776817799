// Under overload, health checks are served first and reports are dropped first. Each API key has two requests at once.

import { pathToFileURL } from 'node:url'
import { serve } from '@hono/node-server'
import { inFlight, rateLimit } from '@spillway/hono'
import { adaptive } from '@spillway/shed'
import { shed } from '@spillway/shed/hono'
import { Hono } from 'hono'
import { reports } from './reports.ts'

export const app = new Hono()

// First, as a request that is dropped should cost as little as possible.
export const overload = shed({
  limit: adaptive({ max: 50 }),
  priority: (c) => (c.req.path === '/health' ? 'critical' : c.req.path === '/report' ? 'sheddable' : 'default'),
  fairBy: (c) => c.req.header('x-api-key'),
})
app.use(overload)

app.get('/health', (c) => c.text('ok\n'))

const slots = rateLimit({ name: 'slots', quota: inFlight(2), key: 'header:x-api-key' })

app.get('/report', slots, async (c) => c.text(await reports.make()))

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  serve({ fetch: app.fetch, port: 3000 }, () => console.log('http://localhost:3000'))
}
