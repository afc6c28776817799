// Under overload, health checks are served first and reports are dropped first. Each API key has two requests at once.

import { pathToFileURL } from 'node:url'
import { inFlight, rateLimit } from '@spillway/express'
import { adaptive, shed } from '@spillway/shed'
import express from 'express'
import { reports } from './reports.ts'

export const app = express()

// First, as a request that is dropped should cost as little as possible.
export const overload = shed<express.Request>({
  limit: adaptive({ max: 50 }),
  priority: (req) => (req.path === '/health' ? 'critical' : req.path === '/report' ? 'sheddable' : 'default'),
  fairBy: (req) => req.get('x-api-key'),
})
app.use(overload)

app.get('/health', (_, res) => void res.send('ok\n'))

const slots = rateLimit({ name: 'slots', quota: inFlight(2), key: 'header:x-api-key' })

app.get('/report', slots, async (_, res) => void res.send(await reports.make()))

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  app.listen(3000, () => console.log('http://localhost:3000'))
}
