import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { webhooks } from './main.ts'

// The tests with servers need real time, some tenths of a second, because they test waits. They assert only that no call is
// too early; a busy machine may fire timers late.

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  vi.useRealTimers()
  vi.unstubAllGlobals()
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

describe('in fake time', () => {
  /** A receiver that answers its calls, in their order, after `delayMs`: with 429 and these Retry-After, and then with 200. */
  function fakeReceiver(retryAfters: readonly (string | undefined)[], delayMs = 0) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now: Date.UTC(2026, 0, 1) })
    const start = Date.now()
    const calls: Call[] = []
    vi.stubGlobal('fetch', async (_: string, { body }: { readonly body: string }) => {
      const retryAfter = retryAfters[calls.length]
      const status = calls.length < retryAfters.length ? 429 : 200
      calls.push({ id: JSON.parse(body).id, at: Date.now() - start })
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
      return new Response(null, { status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } })
    })
    return { url: 'http://receiver.example/hook', calls }
  }

  const times = (calls: readonly Call[]): readonly number[] => calls.map(({ at }) => at)

  // Reproduces: events that already had a turn were sent during the pause.
  test('events that already wait are not sent during a pause, and then at the rate', async () => {
    const { url, calls } = fakeReceiver(['3'])
    const { deliver } = webhooks()
    const sent = Promise.all(Array.from({ length: 5 }, (_, id) => deliver(url, { id })))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(times(calls)).toEqual([0, 3000, 3200, 3400, 3600, 3800])
    expect((await sent).map(({ status, attempts }) => [status, attempts])).toEqual([
      [200, 2],
      ...Array(4).fill([200, 1]),
    ])
  })

  // Reproduces: each 429 added its whole wait, and after an hour in all, events were lost.
  test('several 429s for one pause do not add up, and lose no event', async () => {
    const { url, calls } = fakeReceiver(Array(5).fill('1800'), 900)
    const { deliver } = webhooks()
    const sent = Promise.all(Array.from({ length: 10 }, (_, id) => deliver(url, { id })))
    await vi.advanceTimersByTimeAsync(2_000_000)
    const pauseEndMs = 800 + 900 + 1_800_000
    const later = Array.from({ length: 10 }, (_, i) => pauseEndMs + i * 200)
    expect(times(calls)).toEqual([0, 200, 400, 600, 800, ...later])
    expect((await sent).every(({ status }) => status === 200)).toBe(true)
    expect(new Set(calls.map(({ id }) => id)).size).toBe(10)
  })

  // Reproduces: a date was read as a second.
  test.each([
    ['3', 3000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 23:59:59 GMT', 1000],
    ['0', 1000],
    ['soon', 1000],
    [undefined, 1000],
    ['86400', 3_600_000],
    ['Fri, 02 Jan 2026 00:00:00 GMT', 3_600_000],
  ])('a Retry-After of %s is a pause of %d ms', async (retryAfter, pauseMs) => {
    const { url, calls } = fakeReceiver([retryAfter])
    const sent = webhooks().deliver(url, { id: 1 })
    await vi.advanceTimersByTimeAsync(4_000_000)
    expect(times(calls)).toEqual([0, pauseMs])
    expect(await sent).toEqual({ status: 200, attempts: 2 })
  })

  test('an event aborted during a pause is not sent', async () => {
    const { url, calls } = fakeReceiver(['60'])
    const { deliver } = webhooks()
    const controller = new AbortController()
    const sent = [deliver(url, { id: 0 }), deliver(url, { id: 1 }, controller.signal), deliver(url, { id: 2 })]
    const aborted = expect(sent[1]).rejects.toThrow('shutting down')
    await vi.advanceTimersByTimeAsync(1000)
    controller.abort(new Error('shutting down'))
    await aborted
    await vi.advanceTimersByTimeAsync(100_000)
    expect(calls.map(({ id, at }) => [id, at])).toEqual([
      [0, 0],
      // Its turn was before the retry of the first.
      [2, 60_000],
      [0, 60_200],
    ])
    await Promise.all([sent[0], sent[2]])
  })
})
