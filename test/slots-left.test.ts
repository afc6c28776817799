import * as forElysia from '@spillway/elysia'
import * as forFetch from '@spillway/fetch'
import { inFlight, memoryStore, rateLimiter, settled } from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forHono from '@spillway/hono'
import { Elysia } from 'elysia'
import { H3 } from 'h3'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'

// Reproduces a bug: without a response of Node, a slot was released when the response had been read only. If a handler never
// answered, or nothing read its stream, the slot was renewed for as long as the process ran, although the client had left.

const options = (store = memoryStore()) => ({ quota: inFlight(2), key: () => 'ann', store })
type Options = ReturnType<typeof options>
type Handler = (request: Request) => Response | Promise<Response>
type Answer = () => Promise<Response>

const frameworks: Record<string, (options: Options, answer: Answer) => Handler> = {
  fetch: (options, answer) => forFetch.rateLimit(options)(answer),
  Hono: (options, answer) => {
    const app = new Hono()
    app.use(forHono.rateLimit(options))
    app.get('/', answer)
    return (request) => app.fetch(request)
  },
  h3: (options, answer) => {
    const app = new H3().use(forH3.rateLimit(options))
    app.get('/', answer)
    return (request) => app.fetch(request)
  },
  Elysia: (options, answer) => {
    const app = new Elysia()
    app.use(forElysia.rateLimit(options))
    app.get('/', answer)
    return (request) => app.handle(request)
  },
}

const answers: Record<string, (reached: () => void) => Promise<Response>> = {
  'never answers': (reached) => {
    reached()
    return new Promise(() => {})
  },
  'answers with a stream that nothing reads': async (reached) => {
    reached()
    return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(99)) }))
  },
}

describe.each(Object.entries(frameworks))('a client that leaves %s', (_, mount) => {
  test.each(Object.entries(answers))('gives its slot back, if the handler %s', async (_, answer) => {
    const { store, ...rest } = options()
    const remaining = async (): Promise<number> =>
      (await rateLimiter({ quota: rest.quota, store }).peek('ann')).remaining
    const client = new AbortController()
    await new Promise<void>((reached) => {
      const app = mount({ ...rest, store }, () => answer(reached))
      void app(new Request('http://localhost/', { signal: client.signal }))
    })
    expect(await remaining()).toBe(1)
    client.abort()
    await settled()
    expect(await remaining()).toBe(2)
  })
})
