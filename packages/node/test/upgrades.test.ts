import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import * as onExpress from '@spillway/express'
import * as compat from '@spillway/express/compat'
import { Server as SocketServer } from 'socket.io'
import { expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { perMinute, type RateLimitOptions, rateLimit, type Store } from '../src/index.ts'

// In place of a response, an upgrade has its connection, and engine.io passes an object without most methods of a response: a
// denial threw a TypeError, and engine.io never answered, or the process ended.

const inMemory = () => modelStore(fakeClock())

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The status of an upgrade, with the headers and the body of its answer. */
async function upgrade(url: string): Promise<readonly [number, IncomingMessage['headers'], body: string]> {
  const socket = new WebSocket(url)
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('upgrade', ({ statusCode = 0, headers }) => {
      socket.on('error', () => {})
      socket.terminate()
      resolve([statusCode, headers, ''])
    })
    socket.on('unexpected-response', async (_, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      resolve([response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString()])
    })
  })
}

const options = { quota: perMinute(2), key: 'ip' } as const
const limits = [
  ['of Node', (store: Store) => rateLimit({ ...options, store })],
  ['of Express', (store: Store) => onExpress.rateLimit({ ...options, store })],
  [
    'of compat',
    (store: Store) =>
      compat.rateLimit({
        limit: 2,
        standardHeaders: 'draft-8',
        store: compat.toExpressRateLimitStore(store),
        validate: false,
      }),
  ],
] as const
const stores = [
  ['in memory', inMemory],
  ['remote', () => faultyStore(inMemory())],
] as const
const cases = limits.flatMap(([name, build]) =>
  stores.map(([kind, store]) => [name, kind, () => build(store())] as const),
)

test.each(cases)('the limiter %s denies upgrades of Socket.IO with a store %s', async (name, _, build) => {
  const server = createServer()
  const io = new SocketServer(server)
  io.engine.use(build())
  const url = `ws://${await listen(server)}/socket.io/?EIO=4&transport=websocket`
  const [first, second, [status, headers, body]] = [await upgrade(url), await upgrade(url), await upgrade(url)]
  expect([first[0], second[0], status]).toEqual([101, 101, 429])
  expect(headers['ratelimit']).toMatch(/;\s?r=0/)
  expect(body).toContain(name === 'of compat' ? 'Too many requests' : '"status":429')
  if (name !== 'of compat') expect(second[1]['ratelimit']).toBe('"default";r=0;t=30')
  await io.close()
})

test.each(cases)('the limiter %s denies long polling of Socket.IO with a store %s', async (_name, _, build) => {
  const server = createServer()
  const io = new SocketServer(server)
  io.engine.use(build())
  const url = `http://${await listen(server)}/socket.io/?EIO=4&transport=polling`
  const statuses = [await fetch(url), await fetch(url), await fetch(url)].map(({ status }) => status)
  expect(statuses).toEqual([200, 200, 429])
  await io.close()
})

/** A server of WebSockets behind a limiter that gets the connection. */
async function serve(own: Partial<RateLimitOptions>, next?: (error: unknown) => void): Promise<[string, Server]> {
  const limit = rateLimit({ quota: perMinute(1), ...own } as RateLimitOptions)
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer()
  server.on('upgrade', (req, socket, head) => {
    limit(req, socket, next ?? (() => sockets.handleUpgrade(req, socket, head, (client) => client.terminate())))
  })
  return [`ws://${await listen(server)}/`, server]
}

test('denies an upgrade on its connection, and closes that', async () => {
  const [url, server] = await serve({ store: inMemory() })
  expect((await upgrade(url))[0]).toBe(101)
  const closed = new Promise((resolve) => {
    server.once('connection', (socket: Socket) => socket.once('close', resolve))
  })
  const [status, { date, ...headers }, body] = await upgrade(url)
  expect([status, headers]).toEqual([
    429,
    {
      'ratelimit-policy': '"default";q=1;w=60',
      ratelimit: '"default";r=0;t=60',
      'retry-after': '60',
      'content-type': 'application/problem+json',
      'content-length': String(body.length),
      connection: 'close',
    },
  ])
  await closed
})

test('onDenied answers an upgrade with a response of Node', async () => {
  const [url] = await serve({
    store: inMemory(),
    onDenied: (_req, _decision, res) => {
      res.writeHead(403, { 'X-Own': 'yes' }).end('busy')
    },
  })
  await upgrade(url)
  const [status, headers, body] = await upgrade(url)
  expect([status, headers['x-own'], body]).toEqual([403, 'yes', 'busy'])
})

test('answers an upgrade with 500 if the limiter fails and next takes no error', async () => {
  const logger = { warn: vi.fn() }
  const failing = faultyStore(inMemory())
  failing.break('failing')
  const [url] = await serve({ store: failing, onStoreError: 'throw', logger })
  expect((await upgrade(url))[0]).toBe(500)
  expect(logger.warn).toHaveBeenCalledWith(expect.stringContaining('warn_spillway_next'))
})

// Node removes its listener for errors of a connection when it upgrades: without one, the error ends the process.
test('a client that disconnects while its upgrade waits for the store is no error', async () => {
  const slow = faultyStore(inMemory())
  slow.break('slow')
  const logger = { warn: () => {} }
  const next = vi.fn()
  const [url, server] = await serve({ store: slow, deadline: '1m', logger }, next)
  const upgraded = once(server, 'upgrade')
  const sent = request(url.replace('ws:', 'http:'), { headers: { connection: 'upgrade', upgrade: 'websocket' } })
  sent.on('error', () => {}).end()
  const [, socket] = (await upgraded) as [IncomingMessage, Socket]
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.destroy(new Error('reset'))
  await closed
  await slow.thaw()
  await new Promise(setImmediate)
  expect(next).not.toHaveBeenCalled()
})
