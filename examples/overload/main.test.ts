import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Shedder } from '@spillway/shed'
import { afterAll, expect, test, vi } from 'vitest'
import * as express from './express.ts'
import * as fastify from './fastify.ts'
import * as hono from './hono.ts'
import * as koa from './koa.ts'
import { reports } from './reports.ts'

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
})

async function urlOf(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

await fastify.app.ready()
const apps: readonly { readonly url: string; readonly overload: Shedder }[] = await Promise.all([
  { url: await urlOf(express.app), overload: express.overload.shedder },
  { url: await urlOf(koa.app.callback()), overload: koa.overload.shedder },
  {
    url: await urlOf(getRequestListener(hono.app.fetch, { overrideGlobalObjects: false })),
    overload: hono.overload.shedder,
  },
  {
    url: await urlOf((req, res) => void fastify.app.server.emit('request', req, res)),
    overload: fastify.overload.shedder,
  },
])

/** Ends the reports that are being made. */
let finish: (() => void)[] = []

function beginReports(): void {
  finish = []
  vi.spyOn(reports, 'make').mockImplementation(() => new Promise((end) => finish.push(() => end('a report\n'))))
}

async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise((resolve) => setImmediate(resolve))
}

async function inEach(story: (app: (typeof apps)[number]) => Promise<void>): Promise<void> {
  for (const app of apps) await story(app)
}

const report = (url: string, key: string, signal?: AbortSignal) =>
  fetch(`${url}/report`, { headers: { 'x-api-key': key }, ...(signal && { signal }) })

test('denies a third report of one key at once, and none of another key', () =>
  inEach(async ({ url, overload }) => {
    beginReports()
    const running = [report(url, 'ann'), report(url, 'ann')]
    await until(() => finish.length === 2)
    const denied = await report(url, 'ann')
    expect([denied.status, denied.headers.get('ratelimit-policy')]).toEqual([
      429,
      '"slots";q=2;qu="concurrent-requests"',
    ])
    running.push(report(url, 'ben'))
    await until(() => finish.length === 3)
    for (const end of finish) end()
    for (const response of await Promise.all(running)) expect(await response.text()).toBe('a report\n')
    await until(() => overload.stats().inFlight === 0)
  }))

test('drops a report under overload, and serves a health check', () =>
  inEach(async ({ url, overload }) => {
    // All that default calls may use: a tenth is kept for critical ones.
    const permits: AsyncDisposable[] = []
    for (let i = 0; i < 18; i++) permits.push(await overload.acquire({ priority: i === 0 ? 'critical' : 'default' }))
    const dropped = await report(url, 'ann')
    expect([dropped.status, dropped.headers.get('content-type')]).toEqual([503, 'application/problem+json'])
    expect(await (await fetch(`${url}/health`)).text()).toBe('ok\n')
    for (const permit of permits) await permit[Symbol.asyncDispose]()
    await until(() => overload.stats().inFlight === 0)
  }))

test('releases the slots and the permits of clients that leave', () =>
  inEach(async ({ url, overload }) => {
    beginReports()
    const controller = new AbortController()
    const leaving = [1, 2].map(() => report(url, 'eve', controller.signal).catch(() => 'left'))
    await until(() => finish.length === 2)
    controller.abort()
    expect(await Promise.all(leaving)).toEqual(['left', 'left'])
    await until(() => overload.stats().inFlight === 0)
    vi.mocked(reports.make).mockResolvedValue('a report\n')
    expect([url, (await report(url, 'eve')).status]).toEqual([url, 200])
  }))
