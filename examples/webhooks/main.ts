// Sends webhooks: each receiver is called at its rate, and not at all during its Retry-After, of up to an hour.

import { pathToFileURL } from 'node:url'
import { perSecond, rateLimiter } from '@spillway/memory'

/** The result of a delivery: the receiver's last status, and the number of attempts. */
export interface Delivery {
  readonly status: number
  readonly attempts: number
}

/** Options of a sender. */
export interface SenderOptions {
  /** Calls a second to one receiver. Default: 5. */
  readonly rate?: number
  /** How often a delivery is tried. Default: 5. */
  readonly attempts?: number
}

/** Sends events to receivers. A slow or failing receiver delays no other. */
export function webhooks({ rate = 5, attempts = 5 }: SenderOptions = {}) {
  // A burst of 1 paces the calls evenly. A receiver that asks for a pause is blocked.
  const pace = rateLimiter({ name: 'webhooks', quota: perSecond(rate, { burst: 1 }), blocks: true })

  /** Waits for the event's turn, then delivers it; `signal` aborts. */
  async function deliver(url: string, event: unknown, signal?: AbortSignal): Promise<Delivery> {
    const receiver = new URL(url).host
    for (let attempt = 1; ; attempt++) {
      // A pause may have started since the turn was reserved. Then wait for a turn after the pause.
      do await pace.wait(receiver, signal && { signal })
      while (await isPaused(receiver))
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
        await pace.block(receiver, pauseOf(response.headers.get('retry-after')))
      return response.status
    } catch (error) {
      signal?.throwIfAborted()
      // The receiver is unreachable: handle it like a 503 without a Retry-After.
      if (error instanceof TypeError) await pace.block(receiver, pauseOf(null))
      return 503
    }
  }

  const isPaused = async (receiver: string): Promise<boolean> =>
    (await pace.peek(receiver)).violated.includes('webhooks (blocked)')

  return { deliver }
}

/** The milliseconds of a Retry-After, which is a number of seconds or a date: 1 s to 1 h. */
function pauseOf(retryAfter: string | null): number {
  const millis = Number(retryAfter) * 1000 || Date.parse(retryAfter ?? '') - Date.now() || 0
  return Math.min(Math.max(millis, 1000), 3_600_000)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [url = 'http://localhost:4000/hook'] = process.argv.slice(2)
  const { deliver } = webhooks()
  await Promise.all(Array.from({ length: 10 }, async (_, id) => console.log(id, await deliver(url, { id }))))
}
