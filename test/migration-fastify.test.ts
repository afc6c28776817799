import theirs from '@fastify/rate-limit'
import { perMinute, rateLimit } from '@spillway/fastify'
import fastify, { type FastifyInstance } from 'fastify'
import { expect, test } from 'vitest'

// What the page about @fastify/rate-limit says of both.

const statusesOf = async (app: FastifyInstance, ...urls: readonly string[]) => {
  const statuses: number[] = []
  for (const url of urls) statuses.push((await app.inject(url)).statusCode)
  return statuses
}

test('unknown routes are limited by a hook of the app', async () => {
  const app = fastify()
  app.addHook('onRequest', rateLimit({ quota: perMinute(2) }))
  expect(await statusesOf(app, '/none', '/none', '/none')).toEqual([404, 404, 429])
})

test('both run in one app, route by route', async () => {
  const app = fastify()
  await app.register(theirs, { global: false })
  app.addHook('preHandler', rateLimit({ quota: perMinute(3) }))
  app.get('/theirs', { config: { rateLimit: { max: 1 } } }, async () => 'ok')
  app.get('/ours', async () => 'ok')
  expect(await statusesOf(app, '/theirs', '/theirs', '/ours', '/ours', '/ours')).toEqual([200, 429, 200, 200, 429])
})

test('requests from as many other addresses as theirs keeps free a limited client', async () => {
  const app = fastify()
  await app.register(theirs, { max: 1, cache: 50 })
  app.get('/', async () => 'ok')
  const from = async (remoteAddress: string) => (await app.inject({ url: '/', remoteAddress })).statusCode
  expect([await from('192.0.2.1'), await from('192.0.2.1')]).toEqual([200, 429])
  for (let i = 0; i < 50; i++) await from(`198.51.100.${i}`)
  expect(await from('192.0.2.1')).toBe(200)
})
