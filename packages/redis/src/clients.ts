import { QuotaError, shown } from '@spillway/core'
import type { Request } from './wire.ts'

/** What is used of a `Redis` or `Cluster` of ioredis. */
export interface IoredisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
}

/** What is used of a client, cluster or pool of node-redis. */
export interface NodeRedisClient {
  evalSha(sha: string, request: Request): Promise<unknown>
  eval(script: string, request: Request): Promise<unknown>
  del(key: string): Promise<unknown>
}

/** A client as the application made it. It stays the application's: to connect, to watch for errors, and to close. */
export type RedisClient = IoredisClient | NodeRedisClient

/** One way to speak to Redis, whatever the client. */
export interface Redis {
  /** Keys of one call have to share a slot. */
  readonly clustered: boolean
  run(request: Request): Promise<readonly unknown[]>
  forget(name: string): Promise<unknown>
}

/** Recognises a client by what it can do: names of classes change with versions, bundlers and subclasses. */
export function redisOf(client: RedisClient): Redis {
  const can = (method: string): boolean =>
    typeof (client as unknown as Record<string, unknown> | null | undefined)?.[method] === 'function'
  if (can('evalSha')) return speaking(client as NodeRedisClient, can('getSlotRandomNode'), nodeRedis)
  if (can('evalsha')) {
    return speaking(client as IoredisClient, (client as { isCluster?: unknown }).isCluster === true, ioredis)
  }
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `redisStore takes a client of ioredis, \`new Redis()\`, or of node-redis, \`createClient()\`; got ${shown(client)}.`,
  )
}

type Evaluate<Client> = (client: Client, by: 'sha' | 'text', request: Request) => Promise<unknown>

const nodeRedis: Evaluate<NodeRedisClient> = (client, by, request) =>
  by === 'sha' ? client.evalSha(request.script.sha, request) : client.eval(request.script.text, request)

const ioredis: Evaluate<IoredisClient> = (client, by, { script, keys, arguments: rest }) =>
  by === 'sha'
    ? client.evalsha(script.sha, keys.length, ...keys, ...rest)
    : client.eval(script.text, keys.length, ...keys, ...rest)

function speaking<Client extends RedisClient>(client: Client, clustered: boolean, evaluate: Evaluate<Client>): Redis {
  return {
    clustered,
    async run(request) {
      try {
        return (await evaluate(client, 'sha', request)) as readonly unknown[]
      } catch (error) {
        // A server that was restarted, flushed or promoted has not seen the script. It has not run, then.
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
        return (await evaluate(client, 'text', request)) as readonly unknown[]
      }
    },
    forget: async (name) => client.del(name),
  }
}
