import { errorMonitor } from 'node:events'
import { oncePer, setConnectionError } from '@spillway/core/internal'

/** The methods of clients that emit events. */
interface Emitter {
  on?: (event: string | symbol, listener: (error: unknown) => void) => unknown
}

/**
 * Keeps the errors of a client's connections, so that warnings have the cause: while a client reconnects, its commands only
 * wait. ioredis emits errors only to a listener, and prints them if it has none; node-redis ends the process if it has none,
 * which stays the choice of the app.
 */
export const keepConnectionErrors: (client: object) => void = oncePer('redis connection errors', (client: Emitter) => {
  if (typeof client.on !== 'function') return true
  // A cluster of which no node answers has the error of the last one.
  const keep = (error: unknown): void =>
    setConnectionError(client, (error as { lastNodeError?: unknown } | null)?.lastNodeError ?? error)
  const ofClient = 'evalsha' in client ? 'error' : errorMonitor
  for (const event of [ofClient, 'node error', 'node-error']) client.on(event, keep)
  return true
})
