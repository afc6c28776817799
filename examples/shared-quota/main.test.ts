import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Redis as RedisServer, startRedis } from '../../test/services/redis.ts'
import { apiOf } from './main.ts'

let server: RedisServer
let redis: Redis
let http: Server
let limits: ReturnType<typeof apiOf>['limits']
let url: string

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.port, '127.0.0.1')
  const api = apiOf(redis, 10)
  limits = api.limits
  http = createServer(api.app).listen(0, '127.0.0.1')
  await once(http, 'listening')
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
})

afterAll(async () => {
  http.close()
  redis.disconnect()
  await server.stop()
})

const ask = (organisation: string, user: string): Promise<Response> =>
  fetch(url, { headers: { 'x-organisation': organisation, 'x-user': user } })

const statuses = async (organisation: string, user: string, times: number): Promise<readonly number[]> => {
  const found: number[] = []
  for (let i = 0; i < times; i++) found.push((await ask(organisation, user)).status)
  return found
}

const deniedBy = async (response: Response) => ((await response.json()) as Record<string, unknown>)['violated-policies']

test('no user gets more than 40 %, all of them no more than the organisation has, and a denial names the policy', async () => {
  expect(await statuses('acme', 'alice', 4)).toEqual([200, 200, 200, 200])
  expect(await deniedBy(await ask('acme', 'alice'))).toEqual(['user'])
  // The request denied for the user has consumed nothing of the organisation.
  expect(await statuses('acme', 'bob', 4)).toEqual([200, 200, 200, 200])
  expect(await statuses('acme', 'carol', 2)).toEqual([200, 200])
  const denied = await ask('acme', 'carol')
  expect([denied.status, await deniedBy(denied)]).toEqual([429, ['organisation']])
  // And the other way round.
  expect((await limits.peek(['acme', 'carol'], { policy: 'user' })).remaining).toBe(2)
  expect(await statuses('other', 'alice', 1)).toEqual([200])
})

test('of many requests at once, exactly the quota is allowed', async () => {
  const users = Array.from({ length: 30 }, (_, i) => ['ann', 'ben', 'cat'][i % 3] as string)
  const allowed = (await Promise.all(users.map(async (user) => ((await ask('crowd', user)).ok ? user : '')))).filter(
    (user) => user !== '',
  )
  expect(allowed.length).toBe(10)
  for (const user of new Set(users)) expect(allowed.filter((each) => each === user).length).toBeLessThanOrEqual(4)
})

test('an operator resets a user, or the organisation', async () => {
  await statuses('reset', 'alice', 5)
  expect(await limits.reset(['reset', 'alice'], { policy: 'user' })).toBe(true)
  expect((await limits.peek('reset', { policy: 'organisation' })).remaining).toBe(6)
  expect(await limits.reset('reset', { policy: 'organisation' })).toBe(true)
  expect(await statuses('reset', 'alice', 4)).toEqual([200, 200, 200, 200])
})
