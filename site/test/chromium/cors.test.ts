import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { fixedWindow, type RateLimitOptions, rateLimit } from '@spillway/hono'
import { Hono, type MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { ensureChromium } from '../../../scripts/ensure.mjs'

// What a script of another origin can read of the limiter's responses, in a real Chromium: docs/guides/cors.md.

let browser: Browser
beforeAll(async () => {
  // Chromium's sandbox needs privileges that a container lacks, and the pages are our own.
  browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] })
})
afterAll(() => browser?.close())

/** Starts a server, and returns its origin. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const limit = (options: Partial<RateLimitOptions>) =>
  rateLimit({ quota: fixedWindow({ limit: 1, window: '1d' }), exposeHeaders: true, ...options } as RateLimitOptions)

/** Requests an API twice from a page of another origin, and returns what the page's script reads. */
async function readFrom(middleware: (origin: string) => readonly MiddlewareHandler[]): Promise<unknown> {
  const origin = await serve((_, res) => void res.setHeader('content-type', 'text/html').end('<p>page</p>'))
  const app = new Hono()
  for (const each of middleware(origin)) app.use(each)
  app.get('/', (c) => c.text('ok'))
  const api = await serve(getRequestListener(app.fetch))
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  await page.goto(origin)
  return page.evaluate(async (url) => {
    const read = async (): Promise<unknown> => {
      try {
        // A header of its own makes the browser send a preflight.
        const { status, headers } = await fetch(url, { headers: { 'x-client': 'page' } })
        const has = (name: string): boolean => headers.get(name) !== null
        return { status, limit: has('ratelimit'), policy: has('ratelimit-policy'), wait: has('retry-after') }
      } catch {
        return 'unreadable'
      }
    }
    return [await read(), await read()]
  }, api)
}

const allowed = { status: 200, limit: true, policy: true, wait: false }
const denied = { status: 429, limit: true, policy: true, wait: true }

test('a script reads the headers and the denial of a limiter behind cors()', async () => {
  expect(await readFrom((origin) => [cors({ origin }), limit({})])).toEqual([allowed, denied])
})

test('a script reads nothing of a denial before cors(), unless the denial allows its origin', async () => {
  expect(await readFrom((origin) => [limit({}), cors({ origin })])).toEqual([allowed, 'unreadable'])
  const allows = (origin: string) =>
    limit({ onDenied: () => ({ headers: { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' } }) })
  expect(await readFrom((origin) => [allows(origin), cors({ origin })])).toEqual([allowed, denied])
})

test('a script reads no headers that are not exposed', async () => {
  const hidden = { limit: false, policy: false, wait: false }
  expect(await readFrom((origin) => [cors({ origin }), limit({ exposeHeaders: false })])).toEqual([
    { ...allowed, ...hidden },
    { ...denied, ...hidden },
  ])
})
