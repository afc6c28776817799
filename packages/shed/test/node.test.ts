import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server, type Http2Server } from 'node:http2'
import { type AddressInfo, connect as connectSocket } from 'node:net'
import express from 'express'
import { afterEach, expect, test } from 'vitest'
import { type Shedder, shed, shedder } from '../src/index.ts'

const open: (Server | Http2Server)[] = []
afterEach(async () => {
  for (const server of open.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function portOf(server: Server | Http2Server): Promise<number> {
  open.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Resolves when a shedder is in this state: after each event, something may have changed. */
async function until(overload: Shedder, inFlight: number, queued = 0): Promise<void> {
  for (;;) {
    const stats = overload.stats()
    if (stats.inFlight === inFlight && stats.queued === queued) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void

/** A server with a limit, whose requests are answered by hand. */
function held(overload: Shedder): { readonly handler: Handler; readonly waiting: ServerResponse[] } {
  const waiting: ServerResponse[] = []
  const middleware = shed<IncomingMessage>({ shedder: overload })
  return { waiting, handler: (req, res) => middleware(req, res, () => void waiting.push(res)) }
}

test('a request beyond the limit is answered with 503, and when to try again', async () => {
  const overload = shedder({ limit: 1, queue: 0, retryAfter: '4s' })
  const { handler, waiting } = held(overload)
  const url = `http://127.0.0.1:${await portOf(createServer(handler))}`
  const first = fetch(url)
  await until(overload, 1)
  const denied = await fetch(url)
  expect(denied.status).toBe(503)
  expect(denied.headers.get('content-type')).toBe('application/problem+json')
  const wait = Number(denied.headers.get('retry-after'))
  expect(wait).toBeGreaterThanOrEqual(2)
  expect(wait).toBeLessThanOrEqual(6)
  const body = (await denied.json()) as Record<string, unknown>
  expect(body).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
    status: 503,
  })
  expect(Math.ceil(Number(body['retry-after-ms']) / 1_000)).toBe(wait)
  waiting[0]?.end('ok')
  expect(await (await first).text()).toBe('ok')
  await until(overload, 0)
  expect(overload.stats()).toMatchObject({ allowed: 1, dropped: { 'concurrency-limit': 1 } })
})

test('a request that waits is allowed when another one ends', async () => {
  const overload = shedder({ limit: 1, interval: '1h' })
  const { handler, waiting } = held(overload)
  const url = `http://127.0.0.1:${await portOf(createServer(handler))}`
  const first = fetch(url)
  await until(overload, 1)
  const second = fetch(url)
  await until(overload, 1, 1)
  waiting[0]?.end('first')
  expect(await (await first).text()).toBe('first')
  while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve))
  waiting[1]?.end('second')
  expect(await (await second).text()).toBe('second')
  await until(overload, 0)
})

test('a client that disconnects leaves the queue, or ends its permit', async () => {
  const overload = shedder({ limit: 1, interval: '1h' })
  const { handler, waiting } = held(overload)
  const url = `http://127.0.0.1:${await portOf(createServer(handler))}`
  const [a, b] = [new AbortController(), new AbortController()]
  const first = fetch(url, { signal: a.signal }).catch(() => 'left')
  await until(overload, 1)
  const second = fetch(url, { signal: b.signal }).catch(() => 'left')
  await until(overload, 1, 1)
  b.abort()
  expect(await second).toBe('left')
  await until(overload, 1, 0)
  a.abort()
  expect(await first).toBe('left')
  await until(overload, 0, 0)
  expect(waiting).toHaveLength(1)
})

test('over HTTP/2, a permit ends with its stream', async () => {
  const overload = shedder({ limit: 2, interval: '1h' })
  const waiting: ServerResponse[] = []
  const middleware = shed({ shedder: overload })
  const port = await portOf(
    createHttp2Server((req, res) => middleware(req as never, res, () => void waiting.push(res as never))),
  )
  const client = connect(`http://127.0.0.1:${port}`)
  const streams = [1, 2, 3].map(() => client.request({ ':path': '/' }))
  for (const stream of streams) stream.on('error', () => {})
  await until(overload, 2, 1)
  streams[2]?.close(8)
  await until(overload, 2, 0)
  streams[0]?.close(8)
  await until(overload, 1, 0)
  for (const response of waiting) response.end('ok')
  streams[1]?.resume()
  await until(overload, 0, 0)
  client.close()
  await once(client, 'close')
})

test('the connection of an upgrade holds no permit', async () => {
  const overload = shedder({ limit: 1 })
  const middleware = shed<IncomingMessage>({ shedder: overload })
  const server = createServer()
  server.on('upgrade', (req, socket) => {
    middleware(req, socket, () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n')
      socket.on('data', (chunk) => socket.write(chunk))
      socket.on('end', () => socket.end())
    })
  })
  const port = await portOf(server)
  const socket = connectSocket(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
  const [head] = await once(socket, 'data')
  expect(String(head)).toMatch(/^HTTP\/1.1 101/)
  await until(overload, 0)
  socket.write('still open')
  expect(String((await once(socket, 'data'))[0])).toBe('still open')
  expect(overload.stats().allowed).toBe(1)
  socket.destroy()
})

test('an upgrade beyond the limit is answered with 503', async () => {
  const overload = shedder({ limit: 1, queue: 0 })
  const permit = await overload.acquire()
  const middleware = shed<IncomingMessage>({ shedder: overload })
  const server = createServer()
  server.on('upgrade', (req, socket) => middleware(req, socket, () => void socket.destroy()))
  const socket = connectSocket(await portOf(server), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 503 /)
  await permit[Symbol.asyncDispose]()
})

test('in Express, priorities and keys are read of the request, and a handler that throws ends its permit', async () => {
  const seen: string[] = []
  const overload = shedder({
    limit: 5,
    onDecision: ({ priority, allowed }) => void seen.push(`${priority} ${allowed}`),
  })
  const app = express()
  app.use(
    shed<express.Request>({
      shedder: overload,
      priority: (req) => (req.path === '/health' ? 'critical' : 'sheddable'),
      fairBy: (req) => req.get('x-api-key'),
    }),
  )
  app.get('/health', (_, res) => void res.send('ok'))
  app.get('/broken', () => {
    throw new Error('broken')
  })
  app.use(((_error, _req, res, _next) => void res.status(500).send('failed')) as express.ErrorRequestHandler)
  const url = `http://127.0.0.1:${await portOf(createServer(app))}`
  expect((await fetch(`${url}/health`, { headers: { 'x-api-key': 'ann' } })).status).toBe(200)
  expect((await fetch(`${url}/broken`)).status).toBe(500)
  await until(overload, 0)
  expect(seen).toEqual(['critical true', 'sheddable true'])
})

test('a priority that does not exist fails the request, not the process', async () => {
  const overload = shedder({ limit: 5 })
  const app = express()
  app.use(shed<express.Request>({ shedder: overload, priority: () => 'crucial' as never }))
  app.use(((error, _req, res, _next) => void res.status(500).send(error.message)) as express.ErrorRequestHandler)
  const url = `http://127.0.0.1:${await portOf(createServer(app))}`
  const answer = await fetch(url)
  expect(answer.status).toBe(500)
  expect(await answer.text()).toMatch(/priority must be 'critical', 'default' or 'sheddable'; got "crucial"/)
  expect(overload.stats().inFlight).toBe(0)
})

test('a handler that throws in place of answering ends its permit', () => {
  const overload = shedder({ limit: 1 })
  const middleware = shed<IncomingMessage>({ shedder: overload })
  const response = { headersSent: false, statusCode: 200, setHeader: () => {}, on: () => {}, off: () => {} }
  const next = () => {
    throw new Error('broken')
  }
  expect(() => middleware({ headers: {}, socket: {} } as never, response, next)).toThrow('broken')
  expect(overload.stats().inFlight).toBe(0)
})

test('called without what a framework passes, it says what to write', () => {
  expect(() => (shed() as (...args: unknown[]) => void)({}, {})).toThrow(/shed is called as \(req, res, next\)/)
})
