import type { Mount, NeutralRequest, Send } from '@spillway/conformance'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import { Hono } from 'hono'
import type { Handler } from '../adapters/handlers.ts'

// The apps of the adapter suite, for whoever takes a Request and answers a Response.

/** What Cloudflare writes into each request, over whatever the client has written there. */
const EDGE = { 'cf-connecting-ip': '203.0.113.7' }

// Node 20 has none.
declare const navigator: { readonly userAgent: string } | undefined

const isWorkers = typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers'

const sendTo =
  (handle: Handler): Send =>
  async ({ method = 'GET', path = '/', headers = {} }: NeutralRequest = {}) => {
    const init = { method, headers: { ...headers, ...(isWorkers ? EDGE : {}) } }
    const response = await handle(new Request(`http://localhost${path}`, init), {})
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  }

export const mounts: Readonly<Record<string, Mount>> = {
  Hono: (options) => {
    const app = new Hono()
    app.use(forHono.rateLimit(options))
    app.all('*', (c) => c.json({ rateLimit: c.get('rateLimit') }))
    return sendTo((request) => app.fetch(request))
  },
  fetch: (options) =>
    sendTo(
      forFetch.rateLimit(options)((request: Request) => Response.json({ rateLimit: forFetch.decisionOf(request) })),
    ),
}
