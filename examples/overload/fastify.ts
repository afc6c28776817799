// Under overload, health checks are served first and reports are dropped first. Each API key has two requests at once.

import { pathToFileURL } from 'node:url'
import { inFlight, rateLimit } from '@spillway/fastify'
import { adaptive } from '@spillway/shed'
import { shed } from '@spillway/shed/fastify'
import createFastify from 'fastify'
import { reports } from './reports.ts'

export const app = createFastify()

// First, as a request that is dropped should cost as little as possible.
export const overload = shed({
  limit: adaptive({ max: 50 }),
  priority: ({ url }) => (url === '/health' ? 'critical' : url === '/report' ? 'sheddable' : 'default'),
  fairBy: ({ headers }) => headers['x-api-key']?.toString(),
})
app.addHook('onRequest', overload)

app.get('/health', () => 'ok\n')

const slots = rateLimit({ name: 'slots', quota: inFlight(2), key: 'header:x-api-key' })

app.get('/report', { onRequest: slots }, () => reports.make())

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await app.listen({ port: 3000 })
  console.log('http://localhost:3000')
}
