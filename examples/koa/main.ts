// Each client may send 100 requests at once and then 100 a minute, and read 50 pages of reports an hour.

import { pathToFileURL } from 'node:url'
import { perHour, perMinute, rateLimit } from '@spillway/koa'
import Koa from 'koa'

export const app = new Koa()

app.use(rateLimit({ quota: perMinute(100) }))

// Koa has no router, so the policy matches the path.
app.use(
  rateLimit({
    name: 'reports',
    quota: perHour(50),
    cost: 'query:pages',
    maxCost: 50,
    match: { method: 'GET', path: '/report' },
  }),
)

app.use((ctx) => {
  const { remaining } = ctx.state.rateLimit ?? {}
  if (ctx.path === '/') ctx.body = `${remaining} requests left\n`
  if (ctx.path === '/report') ctx.body = `${ctx.query.pages ?? 1} pages, and ${remaining} left\n`
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  app.listen(3000, () => console.log('http://localhost:3000'))
}
