import { type Mount, type Send, sendInto } from '@spillway/conformance'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import { Hono } from 'hono'
import type { Handler } from '../adapters/handlers.ts'

// The apps of the adapter suite for frameworks with `Request` and `Response`.

/** What Cloudflare writes into each request, over whatever the client has written there. */
const EDGE = { 'cf-connecting-ip': '203.0.113.7' }

// Node 20 has none.
declare const navigator: { readonly userAgent: string } | undefined

const isWorkers = typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers'

const send = (handle: Handler): Send =>
  sendInto((request) => {
    if (isWorkers) for (const [name, value] of Object.entries(EDGE)) request.headers.set(name, value)
    return handle(request, {})
  })

/** A timeout before a handler, which the limiter detects by the request's signal. */
export const timedOut =
  (handle: Handler, timeout: Promise<void>): Handler =>
  (request, ...rest) => {
    const expired = new AbortController()
    const late = timeout.then(() => {
      expired.abort()
      return new Response(null, { status: 503 })
    })
    const signal = AbortSignal.any([request.signal, expired.signal])
    return Promise.race([handle(new Request(request, { signal }), ...rest), late])
  }

export const mounts: Readonly<Record<string, Mount>> = {
  Hono: (options, { timeout, inner, onHandled, limited }) => {
    const app = new Hono()
    app.onError((error, c) => c.text(error.name, 500))
    for (const each of [options, ...inner]) app.use(limited(forHono.rateLimit(each)))
    app.all('*', (c) => {
      onHandled()
      return c.json({ rateLimit: c.get('rateLimit') })
    })
    return send(timedOut((request) => app.fetch(request), timeout))
  },
  fetch: (options, { timeout, inner, onHandled, limited }) => {
    const handler = async (request: Request) => {
      onHandled()
      return Response.json({ rateLimit: forFetch.decisionOf(request) })
    }
    const app = [options, ...inner].reduceRight((next, each) => limited(forFetch.rateLimit(each))(next), handler)
    return send(timedOut(app, timeout))
  },
}
