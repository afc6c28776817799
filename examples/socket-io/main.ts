// Each address may open 20 connections a minute, and each connection may send 5 events a second.

import { perMinute, perSecond, rateLimiter, type Store } from '@spillway/core'
import { ipKey } from '@spillway/core/http'
import type { Server } from 'socket.io'

/** The events that cost more than one unit. */
const COSTS: ReadonlyMap<string, number> = new Map([['upload', 5]])

/** Limits the connections and events of a server. The counts are in a store. */
export function limit(server: Server, store: Store): void {
  const connections = rateLimiter({ name: 'connections', quota: perMinute(20), store })
  const events = rateLimiter({ name: 'events', quota: perSecond(5), store })

  server.use((socket, next) => {
    // An IPv6 client has a network of addresses: ipKey keeps the first 56 bits.
    connections.consume(ipKey(socket.handshake.address)).then(({ allowed, retryAfterMs }) => {
      next(allowed ? undefined : Object.assign(new Error('too many connections'), { data: { retryAfterMs } }))
    }, next)
  })

  server.on('connection', (socket) => {
    socket.use(([event], next) => {
      events.consume(socket.id, COSTS.get(event) ?? 1).then(({ allowed, retryAfterMs }) => {
        if (allowed) next()
        else socket.emit('limited', { event, retryAfterMs })
      }, next)
    })
  })
}
