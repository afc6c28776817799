import * as forElysia from '@spillway/elysia'
import { perMinute, type RateLimitOptions, rateLimit } from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forH3v1 from '@spillway/h3/v1'
import * as forHono from '@spillway/hono'
import { Elysia } from 'elysia'
import { H3 } from 'h3'
import { createApp, eventHandler, toWebHandler } from 'h3-1'
import { Hono } from 'hono'
import { afterEach, describe, expect, test, vi } from 'vitest'

/** A request that counts how often its signal is read. */
class Watched extends Request {
  reads = 0
  override get signal(): AbortSignal {
    this.reads++
    return super.signal
  }
}

type Handle = (request: Request) => Response | Promise<Response>
type Make = (
  options: RateLimitOptions &
    forElysia.RateLimitOptions &
    forH3.RateLimitOptions &
    forHono.RateLimitOptions &
    forH3v1.RateLimitOptions,
) => Handle

const apps: Readonly<Record<string, Make>> = {
  fetch: (options) => rateLimit(options)(() => new Response('ok')),
  Hono: (options) => {
    const app = new Hono().use(forHono.rateLimit(options))
    app.get('/', (c) => c.text('ok'))
    return (request) => app.fetch(request)
  },
  h3: (options) => {
    const app = new H3().use(forH3.rateLimit(options)).get('/', () => 'ok')
    return (request) => app.fetch(request)
  },
  'h3 1': (options) =>
    toWebHandler(
      createApp()
        .use(forH3v1.rateLimit(options))
        .use(eventHandler(() => 'ok')),
    ),
  Elysia: (options) => {
    const app = new Elysia().use((app) => forElysia.rateLimit(options)(app)).get('/', () => 'ok')
    return (request) => app.handle(request)
  },
  'Elysia without compilation': (options) => {
    const app = new Elysia({ aot: false }).use((app) => forElysia.rateLimit(options)(app)).get('/', () => 'ok')
    return (request) => app.handle(request)
  },
}

afterEach(() => {
  vi.unstubAllGlobals()
})

// Deno warns once of a handler that reads the signal of its request and answers. Elsewhere the signal tells that a client has
// left while middleware before the limiter awaited something.
describe.each(Object.entries(apps))('in Deno, %s', (_, make) => {
  test('leaves the signal of a request alone that does not wait', async () => {
    vi.stubGlobal('Deno', {})
    const app = make({ quota: perMinute(1), key: () => 'ann' } as never)
    const [allowed, denied] = [new Watched('http://localhost/'), new Watched('http://localhost/')]
    expect([(await app(allowed)).status, (await app(denied)).status]).toEqual([200, 429])
    expect([allowed.reads, denied.reads]).toEqual([0, 0])
  })

  test('takes nothing from a client that has left while its request waited', async () => {
    vi.stubGlobal('Deno', {})
    const left = new AbortController()
    const key = async () => {
      left.abort()
      return 'ann'
    }
    const app = make({ quota: perMinute(1), key } as never)
    await app(new Request('http://localhost/', { signal: left.signal }))
    expect((await app(new Request('http://localhost/'))).status).toBe(200)
  })
})
