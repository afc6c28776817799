// app/reports/[id]/route.ts of a Next.js app. Next.js reports no address; its host's proxy sends it in X-Forwarded-For.

import { decisionOf, perMinute, rateLimit } from '@spillway/fetch'

const limit = rateLimit({ quota: perMinute(100), trustProxy: 1 })

interface Route {
  readonly params: Promise<{ readonly id: string }>
}

export const GET = limit(async (request: Request, { params }: Route) =>
  Response.json({ id: (await params).id, left: decisionOf(request)?.remaining }),
)
