import { fakeClock, faultyStore, modelStore, type Send, sendTo } from '@spillway/conformance'
import * as onExpress from '@spillway/express'
import * as compat from '@spillway/express/compat'
import { describe, expect, test } from 'vitest'
import { perMinute, rateLimit, type Store } from '../src/index.ts'
import { type Host, hosts, type Middleware } from './hosts.ts'

// The middleware of Express has the types of Node, and failed in all of these: each request was answered with 500 or ended the
// process; with a `key`, the first one that was denied.

const quiet = { logger: { warn: () => {}, error: () => {} } }

/** A limiter of two requests for all clients, or for each address. */
type Limit = (store: Store, key?: () => string) => Middleware

const limits: Readonly<Record<string, Limit>> = {
  'the limiter of Node': (store, key) =>
    rateLimit({ quota: perMinute(2), store, onStoreError: 'throw', ...(key && { key }), ...quiet }) as Middleware,
  'that of Express': (store, key) =>
    onExpress.rateLimit({ quota: perMinute(2), store, onStoreError: 'throw', ...(key && { key }), ...quiet }),
  'that of compat': (store, keyGenerator) =>
    compat.rateLimit({
      limit: 2,
      standardHeaders: 'draft-8',
      store: compat.toExpressRateLimitStore(store),
      ...(keyGenerator && { keyGenerator }),
      ...quiet,
    }) as unknown as Middleware,
}

const cases = Object.entries(limits).flatMap(([limit, build]) =>
  Object.entries(hosts).map(([name, host]) => [limit, name, build, host] as const),
)

const inMemory = () => modelStore(fakeClock())
const stores: readonly (readonly [string, () => Store])[] = [
  ['in memory', inMemory],
  ['remote', () => faultyStore(inMemory())],
]

async function serve(host: Host, ...middleware: readonly Middleware[]): Promise<[Send, served: string[]]> {
  const served: string[] = []
  const server = await host(middleware, (req, res) => {
    served.push(req.url ?? '')
    res.end('served')
  })
  return [await sendTo(server), served]
}

const statusesOf = async (send: Send, count: number, path = '/'): Promise<readonly number[]> => {
  const statuses: number[] = []
  for (let i = 0; i < count; i++) statuses.push((await send({ path })).status)
  return statuses
}

describe.each(stores)('with a store %s', (_, store) => {
  test.each(cases)('%s denies in %s', async (limit, _host, build, host) => {
    for (const key of [undefined, () => 'ann']) {
      const [send, served] = await serve(host, build(store(), key))
      expect(await statusesOf(send, 2)).toEqual([200, 200])
      const { status, headers, body } = await send()
      const isCompat = limit.endsWith('compat')
      expect([status, headers['content-type']]).toEqual([
        429,
        isCompat ? 'text/html; charset=utf-8' : 'application/problem+json',
      ])
      expect(headers['ratelimit']).toMatch(/;\s?r=0/)
      expect(body).toContain(isCompat ? 'Too many requests' : '"status":429')
      expect([await statusesOf(send, 2), served]).toEqual([
        [429, 429],
        ['/', '/'],
      ])
    }
  })
})

// Polka answers an error whose `code` is no status with an exception, which ended the process. A `next` of a server without a
// framework often takes no error: the request was allowed, uncounted.
test.each(cases)('%s serves no request that it cannot count in %s', async (_limit, _host, build, host) => {
  const failing = faultyStore(inMemory())
  failing.break('failing')
  const thrown = () => {
    throw new TypeError('key')
  }
  for (const limit of [build(failing), build(inMemory(), thrown), build(faultyStore(inMemory()), thrown)]) {
    const [send, served] = await serve(host, limit)
    expect([await statusesOf(send, 2), served]).toEqual([[500, 500], []])
  }
})
