// Each client may send 100 requests at once and then 100 a minute, and read 50 pages of reports an
// hour: one file for Bun, Deno and Workers.

import { decisionOf, perHour, perMinute, rateLimit } from '@spillway/fetch'

const limit = rateLimit({ quota: perMinute(100) })
const reports = rateLimit({ name: 'reports', quota: perHour(50), cost: 'query:pages', maxCost: 50 })

const left = (request: Request): string => `${decisionOf(request)?.remaining} left\n`

const report = reports((request: Request) => {
  const pages = new URL(request.url).searchParams.get('pages') ?? 1
  return new Response(`${pages} pages, and ${left(request)}`)
})

function answer(request: Request): Response | Promise<Response> {
  const { pathname } = new URL(request.url)
  if (pathname === '/') return new Response(`requests: ${left(request)}`)
  if (pathname === '/report') return report(request)
  return new Response('not found\n', { status: 404 })
}

// The limiter reads the client address from the runtime's further arguments.
export default { fetch: limit(answer) }
