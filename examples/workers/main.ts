// Each client may send 100 requests at once and then 100 a minute to all locations together, and read 50 pages of reports an hour.

import { env } from 'cloudflare:workers'
import { durableObjectStore, type RateLimitsNamespace } from '@spillway/cloudflare'
import { perHour, perMinute, rateLimit } from '@spillway/hono'
import { Hono } from 'hono'

declare global {
  namespace Cloudflare {
    interface Env {
      readonly RATE_LIMITS: RateLimitsNamespace
    }
  }
}

const store = durableObjectStore(env.RATE_LIMITS)
// Objects may be far away, or have to start. After this time the isolate counts the request by itself.
const deadline = '5s'
const app = new Hono()

app.use(rateLimit({ quota: perMinute(100), store, deadline }))

app.get('/', (c) => c.text(`${c.get('rateLimit')?.remaining} requests left\n`))

const reports = rateLimit({
  name: 'reports',
  quota: perHour(50),
  cost: 'query:pages',
  maxCost: 50,
  store,
  deadline,
  refundIf: (status) => status >= 500, // after the response: the adapter keeps the Worker alive for it
})

app.get('/report', reports, (c) => {
  const pages = c.req.query('pages') ?? 1
  if (c.req.query('topic') === 'broken') return c.text('no such topic yet\n', 500)
  return c.text(`${pages} pages, and ${c.get('rateLimit')?.remaining} left\n`)
})

export { RateLimits } from '@spillway/cloudflare/object'
export default app
