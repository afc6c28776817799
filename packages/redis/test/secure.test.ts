import { perDay, rateLimiter } from '@spillway/core'
import { Redis as Ioredis } from 'ioredis'
import { createClient } from 'redis'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort, type Redis, startRedis } from '../../../test/services/redis.ts'
import { type RedisClient, redisStore } from '../src/index.ts'

// A server with TLS and a password. The test creates its certificate.

const password = 'correct horse battery staple'
let server: Redis
let tlsPort: number
let ca: string

beforeAll(async () => {
  const pems = await generate([{ name: 'commonName', value: 'localhost' }], { algorithm: 'sha256' })
  ca = pems.cert
  tlsPort = await freePort()
  server = await startRedis({
    files: { 'server.crt': pems.cert, 'server.key': pems.private },
    settings: {
      requirepass: password,
      'tls-port': tlsPort,
      'tls-cert-file': 'server.crt',
      'tls-key-file': 'server.key',
      'tls-auth-clients': 'no',
    },
  })
})
afterAll(() => server.stop())

async function holds(client: RedisClient): Promise<void> {
  const limiter = rateLimiter({ quota: perDay(3), store: redisStore(client), deadline: '10s' })
  const decisions = await Promise.all(Array.from({ length: 5 }, () => limiter.consume('a')))
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false])
  await limiter.reset('a')
}

test('ioredis', async () => {
  const client = new Ioredis({ port: tlsPort, password, tls: { ca, servername: 'localhost' } })
  await holds(client)
  client.disconnect()
})

test('node-redis', async () => {
  const client = createClient({
    password,
    socket: { port: tlsPort, host: '127.0.0.1', tls: true, ca, servername: 'localhost' },
  })
  await client.connect()
  await holds(client)
  client.destroy()
})

test('without the password it is an error that says so', async () => {
  const client = new Ioredis({ port: server.port })
  client.on('error', () => {})
  const limiter = rateLimiter({
    quota: perDay(3),
    store: redisStore(client),
    deadline: '10s',
    onStoreError: 'throw',
  })
  await expect(limiter.consume('a')).rejects.toThrow('NOAUTH')
  client.disconnect()
})
