import { createApp, eventHandler, toWebHandler } from 'h3-1'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { handle } from './hooks.server.ts'
import limit from './limit.ts'
import { onRequest } from './middleware.ts'
import { proxy } from './proxy.ts'
import { middleware } from './root.ts'
import { GET } from './route.ts'

// Each function is called as its framework does, while the time stands still.

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const ok = async () => new Response('page')
const requestOf = (address: string) =>
  new Request('http://localhost/', { headers: { 'x-forwarded-for': `made up, ${address}` } })

const nuxt = toWebHandler(
  createApp()
    .use(limit)
    .use(eventHandler(() => 'page')),
)

const frameworks: Readonly<Record<string, (address: string) => Promise<Response>>> = {
  SvelteKit: (address) =>
    handle({ event: { request: requestOf('proxy'), getClientAddress: () => address }, resolve: ok }),
  Astro: (address) => onRequest({ request: requestOf('proxy'), clientAddress: address }, ok),
  'React Router': (address) =>
    (middleware[0] as NonNullable<(typeof middleware)[0]>)({ request: requestOf(address) }, ok),
  'Next.js': (address) => proxy(requestOf(address)),
  Nuxt: (clientAddress) => nuxt(requestOf('proxy'), { clientAddress }),
}

test.each(Object.entries(frameworks))('%s: counts each client, and denies the rest', async (name, ask) => {
  const answers = await Promise.all(Array.from({ length: 150 }, () => ask('192.0.2.1')))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
  const denied = answers.find(({ status }) => status === 429)
  expect([denied?.headers.get('retry-after'), denied?.headers.get('ratelimit')]).toEqual(['1', '"default";r=0;t=1'])
  const other = await ask('192.0.2.2')
  expect([other.status, other.headers.get('ratelimit')]).toEqual([200, '"default";r=99;t=1'])
  expect(other.headers.has('x-middleware-next')).toBe(name === 'Next.js')
})

test('a route of Next.js has a limit of its own', async () => {
  const answers = await Promise.all(Array.from({ length: 6 }, () => GET(requestOf('192.0.2.1'))))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429])
  expect(await answers[4]?.json()).toEqual({ left: 0 })
})
