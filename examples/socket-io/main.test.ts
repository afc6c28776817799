import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fakeClock } from '@spillway/conformance'
import { memoryStore } from '@spillway/memory'
import { Server } from 'socket.io'
import { io } from 'socket.io-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { limit } from './main.ts'

const http = createServer()
const server = new Server(http)
const handled: string[] = []
let url: string

beforeAll(async () => {
  limit(server, memoryStore({ clock: fakeClock() }))
  server.on('connection', (socket) => {
    for (const event of ['say', 'upload']) socket.on(event, () => handled.push(event))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
})

afterAll(() => server.close())

const connect = () => io(url, { transports: ['websocket'], forceNew: true, reconnection: false })

test('counts events by their cost, and reports the wait of a denied one', async () => {
  const client = connect()
  const limited = new Promise((resolve) => client.on('limited', resolve))
  client.emit('say').emit('upload').emit('say')
  expect(await limited).toEqual({ event: 'upload', retryAfterMs: 200 })
  client.emit('say').emit('say')
  await vi.waitFor(() => expect(handled).toHaveLength(4))
  expect(handled).toEqual(['say', 'say', 'say', 'say'])
  client.close()
})

test('denies an address its connections above the quota', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const client = connect()
      const outcome = await new Promise((resolve) => {
        client.on('connect', () => resolve('connected'))
        client.on('connect_error', ({ message }) => resolve(message))
      })
      client.close()
      return outcome
    }),
  )
  // The test above has opened one.
  expect(outcomes.filter((outcome) => outcome === 'connected')).toHaveLength(19)
  expect(outcomes.filter((outcome) => outcome === 'too many connections')).toHaveLength(1)
})
