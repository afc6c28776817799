import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { server } from './main.ts'

let url: string
const opened: WebSocket[] = []

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  for (const socket of opened) socket.terminate()
  server.close()
})

async function open(): Promise<WebSocket> {
  const socket = new WebSocket(url)
  opened.push(socket)
  await once(socket, 'open')
  return socket
}

/** Sends messages all at once, and returns the answer to each. */
async function say(socket: WebSocket, things: readonly string[]): Promise<Record<string, unknown>[]> {
  const answers: Record<string, unknown>[] = []
  const all = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      answers.push(JSON.parse(String(data)))
      if (answers.length === things.length) resolve()
    })
  })
  for (const thing of things) socket.send(thing)
  await all
  socket.removeAllListeners('message')
  return answers
}

test('each connection may send five messages a second, and gets the time to wait', async () => {
  const [one, other] = [await open(), await open()]
  const answers = await say(one, ['a', 'b', 'c', 'd', 'e', 'f'])
  expect(answers[0]).toEqual({ echo: 'a', remaining: 4 })
  const denied = answers.filter(({ error }) => error)
  // On a slow machine 200 ms may pass meanwhile.
  expect(answers.length - denied.length).toBeGreaterThanOrEqual(5)
  for (const { error, retryAfterMs } of denied) {
    expect([error, Number(retryAfterMs) > 0 && Number(retryAfterMs) <= 200]).toEqual(['too fast', true])
  }
  expect(await say(other, ['a'])).toEqual([{ echo: 'a', remaining: 4 }])
})

test('the fourth connection of a client within a minute is denied, with a Retry-After', async () => {
  await open()
  const [, response] = await once(new WebSocket(url), 'unexpected-response')
  expect(response.statusCode).toBe(429)
  expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
  expect(Number(response.headers['retry-after'])).toBeLessThanOrEqual(20)
})

test('a request without an upgrade gets 426', async () => {
  const response = await fetch(url.replace('ws:', 'http:'))
  expect([response.status, response.headers.get('upgrade')]).toEqual([426, 'websocket'])
})

/** Sends an upgrade over a socket that stays open on its own side, and returns the socket of the server. */
async function upgrade(then: (socket: Socket) => void): Promise<Socket> {
  const accepted = new Promise<Socket>((resolve) => {
    server.once('upgrade', (_, socket) => resolve(socket as Socket))
  })
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  then(socket)
  return accepted
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', () => resolve())
  })

// Reproduces: a client that reset a denied upgrade ended the server's process.
test('clients that reset denied upgrades do not end the server', async () => {
  const thrown: unknown[] = []
  const listener = (error: unknown) => void thrown.push(error)
  process.on('uncaughtException', listener)
  onTestFinished(() => void process.off('uncaughtException', listener))
  for (let i = 0; i < 20; i++) await closed(await upgrade((socket) => socket.resetAndDestroy()))
  expect(thrown).toEqual([])
  expect((await fetch(url.replace('ws:', 'http:'))).status).toBe(426)
})

test('a denied connection is closed, also if the client keeps its side open', async () => {
  let client: Socket | undefined
  const socket = await upgrade((each) => {
    client = each
    each.resume()
  })
  onTestFinished(() => void client?.destroy())
  await closed(socket)
})
