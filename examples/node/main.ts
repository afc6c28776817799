// Each client may send 100 requests at once and then 100 a minute, and read 50 pages of reports an hour.

import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'
import { decisionOf, perHour, perMinute, rateLimit } from '@spillway/node'

const limit = rateLimit({ quota: perMinute(100) })

// Node has no router, so the policy matches the path.
const limitReports = rateLimit({
  name: 'reports',
  quota: perHour(50),
  cost: 'query:pages',
  maxCost: 50,
  match: { method: 'GET', path: '/report' },
})

export const server = createServer(async (req, res) => {
  // A request that is denied has been answered.
  if (!(await limit(req, res)) || !(await limitReports(req, res))) return
  const remaining = decisionOf(req)?.remaining
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost')
  if (pathname === '/') res.end(`${remaining} requests left\n`)
  else if (pathname === '/report') res.end(`${searchParams.get('pages') ?? 1} pages, and ${remaining} left\n`)
  else res.writeHead(404).end()
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  server.listen(3000, () => console.log('http://localhost:3000'))
}
