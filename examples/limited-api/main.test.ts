import { afterEach, expect, test } from 'vitest'
import { callFiveTimes, paced, startApi } from './main.ts'

const servers: { close(): unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

test('an API denies most of five calls at once, and none of those that are paced', async () => {
  const { url, server } = await startApi(2)
  servers.push(server)
  expect(await callFiveTimes(fetch, url)).toContain(429)
  await new Promise((resolve) => setTimeout(resolve, 1000))
  expect(await callFiveTimes(paced(), url)).toEqual(Array(5).fill(200))
})
