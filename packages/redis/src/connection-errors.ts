import { oncePer, setConnectionError } from '@spillway/core/internal'
import { withoutPassword } from './failure.ts'

/** The methods of clients that emit events. */
interface Emitter {
  on?: (event: string, listener: (error: unknown) => void) => unknown
}

/**
 * Keeps the errors of a client's connections, so that warnings have the cause: while a client reconnects, its commands only
 * wait. Of errors without a listener, ioredis floods the log, and node-redis ends the process.
 */
export const keepConnectionErrors: (client: object) => void = /* @__PURE__ */ oncePer(
  'redis connection errors',
  (client: Emitter) => {
    if (typeof client.on !== 'function') return true
    // A cluster of which no node answers has the error of the last one.
    const keep = (error: unknown): void =>
      setConnectionError(client, withoutPassword((error as { lastNodeError?: unknown } | null)?.lastNodeError ?? error))
    for (const event of ['error', 'node error', 'node-error']) client.on(event, keep)
    return true
  },
)
