import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { limitedFetch } from '@spillway/client'
import { memoryStore, perSecond } from '@spillway/memory'
import { rateLimit } from '@spillway/node'

/** An API that takes `limit` calls a second, one by one. */
export async function startApi(limit: number): Promise<{ readonly url: string; readonly server: Server }> {
  const limited = rateLimit({ quota: perSecond(limit, { burst: 2 }) })
  const server = createServer((req, res) => void limited(req, res, () => void res.end('an order')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`, server }
}

/** Calls it five times at once, and returns what it answered. */
export const callFiveTimes = (fetch: typeof globalThis.fetch, url: string): Promise<readonly number[]> =>
  Promise.all(Array.from({ length: 5 }, async () => (await fetch(url)).status))

/** A fetch that keeps to the limit. */
export const paced = (): typeof globalThis.fetch =>
  limitedFetch({ quota: perSecond(2, { burst: 1 }), store: memoryStore() })

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { url, server } = await startApi(2)
  console.log('fetch       ', (await callFiveTimes(fetch, url)).toSorted().join(' '))
  await new Promise((resolve) => setTimeout(resolve, 1000))
  console.log('limitedFetch', (await callFiveTimes(paced(), url)).join(' '))
  server.close()
}
