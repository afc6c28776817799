import { afterEach, expect, test } from 'vitest'
import { callTenTimes, paced, startApi } from './main.ts'

const servers: { close(): unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

test('an API denies most of ten calls at once, and none of those that are paced', async () => {
  const { url, server } = await startApi(20)
  servers.push(server)
  expect(await callTenTimes(fetch, url)).toContain(429)
  await new Promise((resolve) => setTimeout(resolve, 150))
  expect(await callTenTimes(paced(), url)).toEqual(Array(10).fill(200))
})
