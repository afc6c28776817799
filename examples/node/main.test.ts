import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { server } from './main.ts'

let url: string

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => void server.close())

test('reports the remaining units to each client', async () => {
  const response = await fetch(url)
  expect([response.status, await response.text()]).toEqual([200, '99 requests left\n'])
  expect(response.headers.get('ratelimit-policy')).toBe('"default";q=100;w=60')
  expect(response.headers.get('ratelimit')).toMatch(/^"default";r=99;t=1$/)
})

test('charges reports by their pages, and denies one that does not fit now', async () => {
  const report = (pages: number): Promise<Response> => fetch(`${url}/report?pages=${pages}`)
  expect(await (await report(40)).text()).toBe('40 pages, and 10 left\n')

  const denied = await report(20)
  expect(denied.status).toBe(429)
  expect(denied.headers.get('ratelimit')).toMatch(/"reports";r=10;t=7[012]\d$/)
  expect(denied.headers.get('retry-after')).toMatch(/^7[012]\d$/)
  expect(await denied.json()).toMatchObject({ status: 429, 'violated-policies': ['reports'] })

  expect((await report(10)).status).toBe(200)
})

test('denies requests above the quota of a minute', async () => {
  const responses = await Promise.all(Array.from({ length: 150 }, () => fetch(url)))
  const denied = responses.find(({ status }) => status === 429)
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 429]))
  expect(denied?.headers.get('ratelimit')).toBe('"default";r=0;t=1')
  expect(denied?.headers.get('retry-after')).toBe('1')
})
