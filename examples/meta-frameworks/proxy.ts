// Next.js: proxy.ts

import { perMinute, rateLimit } from '@spillway/fetch'

const limit = rateLimit({ quota: perMinute(100), trustProxy: 1 })

// `NextResponse.next()`: Next.js goes on if a response has this header, and sends its other headers.
const next = (): Response => new Response(null, { headers: { 'x-middleware-next': '1' } })

export const proxy: (request: Request) => Promise<Response> = limit(next)
