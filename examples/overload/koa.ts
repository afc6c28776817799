// Under overload, health checks are served first and reports are dropped first. Each API key has two requests at once.

import { pathToFileURL } from 'node:url'
import { inFlight, rateLimit } from '@spillway/koa'
import { adaptive } from '@spillway/shed'
import { shed } from '@spillway/shed/koa'
import Koa from 'koa'
import { reports } from './reports.ts'

export const app = new Koa()

// First, as a request that is dropped should cost as little as possible.
export const overload = shed({
  limit: adaptive({ max: 50 }),
  priority: ({ path }) => (path === '/health' ? 'critical' : path === '/report' ? 'sheddable' : 'default'),
  fairBy: (ctx) => ctx.get('x-api-key'),
})
app.use(overload)

// Koa has no router, so the policy matches the path.
app.use(rateLimit({ name: 'slots', quota: inFlight(2), key: 'header:x-api-key', match: { path: '/report' } }))

app.use(async (ctx) => {
  if (ctx.path === '/health') ctx.body = 'ok\n'
  if (ctx.path === '/report') ctx.body = await reports.make()
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  app.listen(3000, () => console.log('http://localhost:3000'))
}
