import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { perMinute, rateLimiter } from '@spillway/core'
import { redisStore } from '@spillway/redis'
import { Redis as Rest } from '@upstash/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Redis as Server, startRedis } from './services/redis.ts'

// The adapter of docs/guides/stores.md, on a front that passes commands over HTTP to a real Redis, as Upstash does.

let server: Server
let client: Redis
const front = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const [command, ...rest] = JSON.parse(body) as [string, ...string[]]
  const answer = await client.call(command, ...rest).then(
    (result) => [200, { result }] as const,
    (error: Error) => [400, { error: error.message }] as const,
  )
  response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]))
})
let url: string

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, '127.0.0.1')
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
})

afterAll(async () => {
  front.close()
  client.disconnect()
  await server.stop()
})

const restOf = () =>
  new Rest({
    url,
    token: 'secret',
    automaticDeserialization: false,
    enableAutoPipelining: false,
    enableTelemetry: false,
  })

test('the adapter counts in Redis, also before Redis knows the script', async () => {
  const rest = restOf()
  const store = redisStore({
    evalsha: (sha: string, count: number, ...all: string[]) => rest.evalsha(sha, all.slice(0, count), all.slice(count)),
    eval: (script: string, count: number, ...all: string[]) => rest.eval(script, all.slice(0, count), all.slice(count)),
    del: (...keys: string[]) => rest.del(...keys),
    scan: (cursor, _match, match, _count, count) => rest.scan(cursor, { match, count: Number(count) }),
    unlink: (...keys: string[]) => rest.unlink(...keys),
  })
  const limiter = rateLimiter({ quota: perMinute(2), store, deadline: '10s', onStoreError: 'throw' })
  await client.script('FLUSH')
  const allowed: boolean[] = []
  for (let i = 0; i < 3; i++) allowed.push((await limiter.consume('ann')).allowed)
  expect(allowed).toEqual([true, true, false])
  expect(await limiter.reset('ann')).toBe(true)
  await limiter.consume('bob')
  expect(await limiter.resetAll()).toBe(1)
})

test('an adapter without scan cannot list states, and resetAll says so', async () => {
  const { evalsha, del } = client
  const store = redisStore({ evalsha: evalsha.bind(client), eval: client.eval.bind(client), del: del.bind(client) })
  const limiter = rateLimiter({ name: 'unlisted', quota: perMinute(2), store, deadline: '10s' })
  await limiter.consume('ann')
  await expect(limiter.resetAll()).rejects.toThrow('this store cannot list its states')
})

test('the client itself is invalid, and the error says what to write', () => {
  expect(() => redisStore(restOf() as never)).toThrow(/got one of @upstash\/redis.*stores\.md#other-clients/)
})
