// Each client may send 100 requests at once and then 100 a minute, and read 50 pages of reports an hour.

import { pathToFileURL } from 'node:url'
import { perHour, perMinute, rateLimit } from '@spillway/h3'
import { H3, serve } from 'h3'

export const app = new H3()

app.use(rateLimit({ quota: perMinute(100) }))

app.get('/', (event) => `${event.context.rateLimit?.remaining} requests left\n`)

const reports = rateLimit({ name: 'reports', quota: perHour(50), cost: 'query:pages', maxCost: 50 })

app.get(
  '/report',
  (event) => `${event.url.searchParams.get('pages') ?? 1} pages, and ${event.context.rateLimit?.remaining} left\n`,
  { middleware: [reports] },
)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) serve(app, { port: 3000 })
