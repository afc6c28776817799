import * as forElysia from '@spillway/elysia'
import * as forFetch from '@spillway/fetch'
import { memoryStore, perMinute, rateLimiter, settled } from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forHono from '@spillway/hono'
import { Elysia } from 'elysia'
import { H3 } from 'h3'
import { Hono } from 'hono'
import { expect, test } from 'vitest'

// Reproduces a bug: the units of HEAD were refunded when the response had been read, but nothing reads the body of HEAD.

interface Options {
  readonly quota: ReturnType<typeof perMinute>
  readonly key: () => string
  readonly refundIf: () => boolean
  readonly store: ReturnType<typeof memoryStore>
}
type Handler = (request: Request) => Response | Promise<Response>

const frameworks: Record<string, (options: Options, handler: () => Response) => Handler> = {
  fetch: (options, handler) => forFetch.rateLimit(options)(handler),
  Hono: (options, handler) => {
    const app = new Hono()
    app.use(forHono.rateLimit(options))
    app.get('/', handler)
    return (request) => app.fetch(request)
  },
  h3: (options, handler) => {
    const app = new H3().use(forH3.rateLimit(options))
    app.all('/', handler)
    return (request) => app.fetch(request)
  },
  Elysia: (options, handler) => {
    const app = new Elysia()
    app.use(forElysia.rateLimit(options))
    app.all('/', handler)
    return (request) => app.handle(request)
  },
}

test.each(Object.keys(frameworks))(
  'a stream that answers HEAD is settled, though nothing reads it: %s',
  async (name) => {
    const options = { quota: perMinute(9), key: () => 'ann', refundIf: () => true, store: memoryStore() }
    const chunks = () =>
      new ReadableStream({
        start: (controller) => {
          for (let i = 0; i < 9; i++) controller.enqueue(Uint8Array.of(i))
          controller.close()
        },
      })
    const app = frameworks[name]?.(options, () => new Response(chunks()))
    await app?.(new Request('http://localhost/', { method: 'HEAD' }))
    await settled()
    const { quota, store } = options
    expect((await rateLimiter({ quota, store }).peek('ann')).remaining).toBe(9)
  },
)
