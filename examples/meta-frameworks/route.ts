// Next.js: app/report/route.ts

import { decisionOf, perMinute, rateLimit } from '@spillway/fetch'

const limit = rateLimit({ name: 'reports', quota: perMinute(5), trustProxy: 1 })

export const GET: (request: Request) => Promise<Response> = limit((request) =>
  Response.json({ left: decisionOf(request)?.remaining }),
)
