import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type Postgres, startPostgres } from '../../test/services/postgres.ts'
import { build } from './main.ts'

let postgres: Postgres
const instances: FastifyInstance[] = []
const accounts = new Map(['acme', 'other', 'calm'].map((name) => [`${name}-key`, name]))

beforeAll(async () => {
  postgres = await startPostgres()
})

afterEach(async () => {
  for (const instance of instances.splice(0)) await instance.close()
})

afterAll(() => postgres.stop())

/** An instance of the app that listens. */
async function start(): Promise<string> {
  const app = await build(accounts, postgres.config)
  instances.push(app)
  return app.listen({ host: '127.0.0.1', port: 0 })
}

const ask = (url: string, account: string, files: number): Promise<Response> =>
  fetch(`${url}/export?files=${files}`, { headers: { authorization: `Bearer ${account}-key` } })

test('two instances share one count, and a third one continues it after they have stopped', async () => {
  const urls = [await start(), await start()] as const
  const responses = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(urls[i % 2] as string, 'acme', 8)))
  expect(responses.filter(({ status }) => status === 200).length).toBe(6)
  const denied = responses.find(({ status }) => status === 429)
  expect(denied?.headers.get('ratelimit-policy')).toBe('"burst";q=20;w=1, "exports";q=50;w=86400')
  expect(await denied?.json()).toMatchObject({ 'violated-policies': ['exports'] })
  for (const instance of instances.splice(0)) await instance.close()

  const third = await start()
  expect([(await ask(third, 'acme', 3)).status, (await ask(third, 'acme', 2)).status]).toEqual([429, 200])
  expect((await ask(third, 'other', 50)).status).toBe(200)
})

test('while the database is down exports are denied, and when it is up again the count continues', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const url = await start()
  expect((await ask(url, 'calm', 40)).status).toBe(200)
  await postgres.kill()
  expect((await ask(url, 'calm', 10)).status).toBe(503)
  await postgres.start()
  // The circuit is half-open after a while.
  await vi.waitFor(async () => expect((await ask(url, 'calm', 11)).status).toBe(429), {
    timeout: 20_000,
    interval: 100,
  })
  expect((await ask(url, 'calm', 10)).status).toBe(200)
})

// Reproduces: each invented account had a quota of its own.
test('an unknown API key gets 401, and so does a request without one', async () => {
  const url = await start()
  expect((await ask(url, 'nobody', 1)).status).toBe(401)
  expect((await fetch(`${url}/export`)).status).toBe(401)
})
