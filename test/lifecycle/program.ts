// An app whose store may not be there: made, asked, and closed as its owner would. Nothing of the limiter's may keep
// the process alive after that, and no promise of its may fail unheard.

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { perMinute, type Store } from '@spillway/core'
import { rateLimit } from '@spillway/express'
import { memoryStore } from '@spillway/memory'
import { rateLimit as rateLimitNode } from '@spillway/node'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import express from 'express'
import { Redis } from 'ioredis'
import pg from 'pg'

interface Held {
  readonly store: Store
  close(): unknown
}

const [kind = '', port = '', framework = ''] = process.argv.slice(2)
const at = { host: '127.0.0.1', port: Number(port) }
const kinds: Readonly<Record<string, () => Held>> = {
  memory: () => ({ store: memoryStore(), close: () => {} }),
  redis() {
    const client = new Redis(at).on('error', () => {})
    return { store: redisStore(client), close: () => client.disconnect() }
  },
  'redis with leases'() {
    const client = new Redis(at).on('error', () => {})
    return { store: redisStore(client, { lease: 10 }), close: () => client.disconnect() }
  },
  postgres() {
    const pool = new pg.Pool({ ...at, user: 'postgres' }).on('error', () => {})
    const store = postgresStore(pool, { sweepEvery: '1m' })
    return { store, close: () => pool.end() }
  },
}
const make = kinds[kind]
if (!make) throw new RangeError(`no store ${kind}`)

const { store, close } = make()
const options = { quota: perMinute(100), store }
const listeners: Readonly<Record<string, () => RequestListener>> = {
  Express: () => express().use(rateLimit(options), (_, res) => void res.send('ok')),
  Node() {
    const limit = rateLimitNode(options)
    return (req, res) => limit(req, res, () => res.end('ok'))
  },
}
const listener = listeners[framework]
if (!listener) throw new RangeError(`no framework ${framework}`)
const server = createServer(listener()).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await fetch(url)).status))
server.close()
server.closeAllConnections()
close()
process.send?.(statuses)
process.disconnect()
