// Each client may open three connections a minute, and send five messages a second on each of them.

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { perMinute, perSecond } from '@spillway/core'
import { ipKey } from '@spillway/core/http'
import { rateLimiter } from '@spillway/memory'
import { WebSocketServer } from 'ws'

const upgrades = rateLimiter({ name: 'upgrades', quota: perMinute(3) })
const messages = rateLimiter({ name: 'messages', quota: perSecond(5) })

// Messages are counted, not their bytes, so bound their size.
const sockets = new WebSocketServer({ noServer: true, maxPayload: 4_096 })
export const server = createServer((_, response) => response.writeHead(426, { Upgrade: 'websocket' }).end())

server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
  // Node leaves the errors of an upgraded socket to this handler: without a listener, a client that resets its connection
  // ends the process.
  socket.on('error', () => socket.destroy())
  // An IPv6 client has a network of addresses: ipKey keeps the first 56 bits.
  const client = ipKey(request.socket.remoteAddress ?? 'nowhere')
  const { allowed, retryAfterMs } = upgrades.consumeSync(client)
  if (allowed) {
    sockets.handleUpgrade(request, socket, head, (connection) => sockets.emit('connection', connection))
    return
  }
  const seconds = Math.ceil(retryAfterMs / 1000)
  // Otherwise the connection lasts until the client closes its side.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 429 Too Many Requests\r\nRetry-After: ${seconds}\r\nConnection: close\r\n\r\n`)
})

sockets.on('connection', (connection) => {
  const id = randomUUID()
  connection.on('message', (data) => {
    const { allowed, remaining, retryAfterMs } = messages.consumeSync(id)
    connection.send(JSON.stringify(allowed ? { echo: String(data), remaining } : { error: 'too fast', retryAfterMs }))
  })
  connection.on('error', () => connection.terminate())
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  server.listen(3000, () => console.log('ws://localhost:3000'))
}
