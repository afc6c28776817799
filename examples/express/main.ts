// Each client may send 100 requests at once and then 100 a minute, and read 50 pages of reports an hour.

import { pathToFileURL } from 'node:url'
import { perHour, perMinute, rateLimit } from '@spillway/express'
import express from 'express'

export const app = express()

app.use(rateLimit({ quota: perMinute(100) }))

app.get('/', (req, res) => {
  res.send(`${req.rateLimit?.remaining} requests left\n`)
})

const reports = rateLimit({ name: 'reports', quota: perHour(50), cost: 'query:pages', maxCost: 50 })

app.get('/report', reports, (req, res) => {
  res.send(`${req.query.pages ?? 1} pages, and ${req.rateLimit?.remaining} left\n`)
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  app.listen(3000, () => console.log('http://localhost:3000'))
}
