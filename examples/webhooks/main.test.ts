import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { webhooks } from './main.ts'

// These tests need real time, some tenths of a second, because they test waits. They assert only that no call is too early;
// a busy machine may fire timers late.

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

interface Call {
  id: number
  readonly at: number
}

/** A receiver that answers with these statuses, and then 200. */
async function receiver(...answers: readonly (readonly [status: number, retryAfter?: string])[]) {
  const calls: Call[] = []
  const server = createServer(async (req, res) => {
    const [status, retryAfter] = answers[calls.length] ?? [200]
    const call = { id: -1, at: performance.now() }
    calls.push(call)
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    call.id = JSON.parse(Buffer.concat(chunks).toString()).id
    res.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end()
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, calls }
}

test('a receiver is called at its rate; another one has its own rate', async () => {
  const { deliver } = webhooks({ rate: 20 })
  const [one, other] = [await receiver(), await receiver()]
  const start = performance.now()
  const sent = Array.from({ length: 8 }, (_, id) => deliver(one.url, { id }))
  await deliver(other.url, { id: 100 })
  expect(await Promise.all(sent)).toEqual(Array.from({ length: 8 }, () => ({ status: 200, attempts: 1 })))
  expect(one.calls.map(({ id }) => id).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  // The eighth turn is 7 × 50 ms after the first, and the other receiver's call does not wait for it.
  expect(one.calls[7]?.at).toBeGreaterThan(start + 7 * 50 - 2)
  expect(other.calls[0]?.at).toBeLessThan(one.calls[7]?.at ?? 0)
})

test('a receiver with a Retry-After gets no call until then, and then its event once more', async () => {
  const { deliver } = webhooks({ rate: 50 })
  const { url, calls } = await receiver([429, '1'])
  expect(await deliver(url, { id: 1 })).toEqual({ status: 200, attempts: 2 })
  expect(calls[1]?.at).toBeGreaterThan((calls[0]?.at ?? Infinity) + 1000 - 2)
})

test('a delivery that keeps failing is abandoned, and one with a permanent error at once', async () => {
  const { deliver } = webhooks({ rate: 1000, attempts: 3 })
  const failing = await receiver([500], [500], [502])
  expect(await deliver(failing.url, { id: 1 })).toEqual({ status: 502, attempts: 3 })
  const gone = await receiver([410])
  expect(await deliver(gone.url, { id: 1 })).toEqual({ status: 410, attempts: 1 })
})

test('an aborted delivery does not wait', async () => {
  const { deliver } = webhooks({ rate: 1 })
  const { url, calls } = await receiver()
  await deliver(url, { id: 1 })
  await expect(deliver(url, { id: 2 }, AbortSignal.abort(new Error('shutting down')))).rejects.toThrow('shutting down')
  expect(calls).toHaveLength(1)
})
