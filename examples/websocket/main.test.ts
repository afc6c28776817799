import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
