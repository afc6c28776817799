import type { RedisClient } from '@spillway/redis'
import { GlideClient } from '@valkey/valkey-glide'
import { Redis } from 'ioredis'
import Redis5 from 'ioredis-5'
import { Redis as Iovalkey } from 'iovalkey'
import { createClient } from 'redis'
import { createClient as createClient4 } from 'redis-4'
import { createClient as createClient5 } from 'redis-5'

/** A client of a store, and how it is closed. */
export interface Connected<Client> {
  readonly client: Client
  close(): unknown
}

/** The versions of a client, by the name of the package that has each, and how each connects. */
export type Versions<Client, Server> = Readonly<Record<string, (server: Server) => Promise<Connected<Client>>>>

const here = (port: number) => ({ host: '127.0.0.1', port })

async function ended<Client extends { disconnect(): unknown }>(client: Client): Promise<Connected<Client>> {
  return { client, close: () => client.disconnect() }
}

/** The clients that `redisStore` takes as they are. */
export const redisClients: Readonly<Record<string, Versions<RedisClient, number>>> = {
  ioredis: {
    'ioredis-5': (port) => ended(new Redis5.default(here(port))),
    ioredis: (port) => ended(new Redis(here(port))),
  },
  iovalkey: { iovalkey: (port) => ended(new Iovalkey(here(port))) },
  'node-redis': {
    'redis-4': async (port) => {
      const client = createClient4({ socket: here(port) })
      await client.connect()
      return ended(client)
    },
    'redis-5': async (port) => {
      const client = await createClient5({ socket: here(port) }).connect()
      return { client, close: () => client.destroy() }
    },
    redis: async (port) => {
      const client = await createClient({ socket: here(port) }).connect()
      return { client, close: () => client.destroy() }
    },
  },
  'Valkey GLIDE': {
    '@valkey/valkey-glide': async (port) => {
      const timeouts = { requestTimeout: 20_000, advancedConfiguration: { connectionTimeout: 20_000 } }
      const client = await GlideClient.createClient({ addresses: [here(port)], ...timeouts })
      return { client, close: () => client.close() }
    },
  },
}
