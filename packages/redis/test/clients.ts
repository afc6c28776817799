import { Redis as Ioredis } from 'ioredis'
import { createClient, createClientPool } from 'redis'
import type { RedisClient } from '../src/index.ts'

/** A client of an application, with a raw command and a close method for tests. */
export interface Connected {
  readonly client: RedisClient
  command(...words: string[]): Promise<unknown>
  close(): void
}

/** The clients for a standalone server, by their names in test titles. */
export const clients: Readonly<Record<string, (port: number) => Promise<Connected>>> = {
  async ioredis(port) {
    const client = new Ioredis({ port })
    return {
      client,
      command: (name, ...words) => client.call(name as string, ...words),
      close: () => client.disconnect(),
    }
  },
  async 'node-redis'(port) {
    const client = createClient({ socket: { port } })
    await client.connect()
    return { client, command: (...words) => client.sendCommand(words), close: () => client.destroy() }
  },
  async 'a pool of node-redis'(port) {
    // By default, a call on a busy machine fails after three seconds without a free connection.
    const client = createClientPool({ socket: { port } }, { acquireTimeout: 60_000 })
    await client.connect()
    return { client, command: (...words) => client.sendCommand(words), close: () => client.destroy() }
  },
}
