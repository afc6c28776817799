// Webhooks out: each receiver is called at a pace it can take, and left alone for as long as it asks.

import { pathToFileURL } from 'node:url'
import { perSecond, rateLimiter } from '@spillway/memory'

/** How a delivery ended: what the receiver answered last, and how often it was asked. */
export interface Delivery {
  readonly status: number
  readonly attempts: number
}

/** What can be set of a sender. */
export interface SenderOptions {
  /** Calls a second to one receiver; 5 unless given. */
  readonly rate?: number
  /** How often a delivery is tried; 5 unless given. */
  readonly attempts?: number
}

/** Sends events to receivers. A slow or angry one delays nobody else. */
export function webhooks({ rate = 5, attempts = 5 }: SenderOptions = {}) {
  // One at a time to each receiver, evenly: a burst of 1.
  const pace = rateLimiter({ name: 'webhooks', quota: perSecond(rate, { burst: 1 }) })

  /** Delivers an event when it is the receiver's turn; `signal` gives up. */
  async function deliver(url: string, event: unknown, signal?: AbortSignal): Promise<Delivery> {
    const receiver = new URL(url).host
    for (let attempt = 1; ; attempt++) {
      await pace.wait(receiver, { maxWait: '1h', ...(signal && { signal }) })
      const status = await post(url, event, receiver, signal)
      const done = status < 500 && status !== 429
      if (done || attempt === attempts) return { status, attempts: attempt }
    }
  }

  async function post(url: string, event: unknown, receiver: string, signal?: AbortSignal): Promise<number> {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(event),
        signal: signal ?? null,
      })
      await response.body?.cancel()
      if (response.status === 429 || response.status === 503)
        await leaveAlone(receiver, response.headers.get('retry-after'))
      return response.status
    } catch (error) {
      signal?.throwIfAborted()
      // Not there at all: as good as a 503 that does not say for how long.
      if (error instanceof TypeError) await leaveAlone(receiver, null)
      return 503
    }
  }

  /** Owes a receiver silence: every event for it, this one and those behind it, waits until that is paid. */
  async function leaveAlone(receiver: string, retryAfter: string | null): Promise<void> {
    const seconds = Math.min(Math.max(Number(retryAfter) || 1, 1), 3600)
    await pace.charge(receiver, Math.ceil(seconds * rate))
  }

  return { deliver }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [url = 'http://localhost:4000/hook'] = process.argv.slice(2)
  const { deliver } = webhooks()
  await Promise.all(Array.from({ length: 10 }, async (_, id) => console.log(id, await deliver(url, { id }))))
}
