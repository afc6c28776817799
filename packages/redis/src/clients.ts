import { type Deadline, QuotaError } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'
import { deleteMatching } from './scan.ts'
import type { EvalRequest } from './wire.ts'

/** The methods that a `Redis` or `Cluster` of ioredis must have. */
export interface IoredisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
}

/** The methods that a client, cluster or pool of node-redis must have. */
export interface NodeRedisClient {
  evalSha(sha: string, request: EvalRequest): Promise<unknown>
  eval(script: string, request: EvalRequest): Promise<unknown>
  del(key: string): Promise<unknown>
}

/** A client that the application owns. The application connects it, handles its errors, and closes it. */
export type RedisClient = IoredisClient | NodeRedisClient

/** One interface to Redis for all clients. */
export interface RedisAdapter {
  /** Whether all keys of one call must share a hash slot. */
  readonly clustered: boolean
  /** The node that serves a hash slot, as far as the client knows. */
  nodeOf(slot: number): string | undefined
  run(request: EvalRequest, deadline?: Deadline): Promise<readonly unknown[]>
  /** Deletes a key, and returns how many keys were deleted: 0 or 1. */
  deleteKey(name: string): Promise<number>
  /** Deletes all keys that match `pattern` and `isWanted`, and returns how many there were. */
  deleteMatching(pattern: string, isWanted: (name: string) => boolean): Promise<number>
}

/** Recognises a client by its methods: class names change with versions, bundlers and subclasses. */
export function redisOf(client: RedisClient): RedisAdapter {
  const can = (method: string): boolean =>
    typeof (client as unknown as Record<string, unknown> | null | undefined)?.[method] === 'function'
  if (can('evalSha')) return adapterFor(client as NodeRedisClient, can('getSlotRandomNode'), nodeRedis)
  if (can('evalsha') && can('createScript')) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'redisStore takes a client of ioredis or of node-redis; got one of @upstash/redis, whose evalsha takes lists of keys and arguments. Pass an object with evalsha, eval and del that calls it: see docs/guides/stores.md#other-clients.',
    )
  }
  if (can('evalsha')) {
    return adapterFor(client as IoredisClient, (client as { isCluster?: unknown }).isCluster === true, ioredis)
  }
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `redisStore takes a client of ioredis, \`new Redis()\`, or of node-redis, \`createClient()\`; got ${formatValue(client)}.`,
  )
}

type Evaluate<Client> = (client: Client, by: 'sha' | 'text', request: EvalRequest) => Promise<unknown>

const nodeRedis: Evaluate<NodeRedisClient> = (client, by, request) =>
  by === 'sha' ? client.evalSha(request.script.sha, request) : client.eval(request.script.text, request)

const ioredis: Evaluate<IoredisClient> = (client, by, { script, keys, arguments: rest }) =>
  by === 'sha'
    ? client.evalsha(script.sha, keys.length, ...keys, ...rest)
    : client.eval(script.text, keys.length, ...keys, ...rest)

/** How long a call without a deadline is retried while its hash slot moves, and the delay between attempts. */
const MOVING_MS = 1_000
const TRY_AGAIN_MS = 10

function adapterFor<Client extends RedisClient>(
  client: Client,
  clustered: boolean,
  evaluate: Evaluate<Client>,
): RedisAdapter {
  const runAgain = async (failed: unknown, request: EvalRequest, deadline?: Deadline): Promise<unknown> => {
    const untilMs = deadline?.atMs ?? performance.now() + MOVING_MS
    for (let error = failed, by: 'sha' | 'text' = 'sha'; ; ) {
      // A server that was restarted, flushed or promoted does not have the script, and did not run it.
      if (by === 'sha' && isReply(error, 'NOSCRIPT')) by = 'text'
      // While a hash slot moves, its keys are on two nodes. The script did not run.
      else if (isReply(error, 'TRYAGAIN') && performance.now() + TRY_AGAIN_MS < untilMs) {
        await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS))
        by = 'sha'
      } else throw error
      try {
        return await evaluate(client, by, request)
      } catch (again) {
        error = again
      }
    }
  }
  return {
    clustered,
    nodeOf: (slot) => nodeIn((client as { slots?: unknown }).slots, slot),
    async run(request, deadline) {
      try {
        return (await evaluate(client, 'sha', request)) as readonly unknown[]
      } catch (error) {
        return (await runAgain(error, request, deadline)) as readonly unknown[]
      }
    },
    deleteKey: async (name) => Number(await client.del(name)),
    deleteMatching: (pattern, isWanted) => deleteMatching(client, pattern, isWanted),
  }
}

const isReply = (error: unknown, code: string): boolean => error instanceof Error && error.message.startsWith(code)

/** Both clients keep a list of all hash slots: ioredis lists node names, node-redis lists shards. */
function nodeIn(slots: unknown, slot: number): string | undefined {
  const shard = (slots as readonly unknown[] | undefined)?.[slot] as
    | readonly [string]
    | { readonly master?: { readonly address?: string } }
    | undefined
  return Array.isArray(shard) ? shard[0] : (shard as { master?: { address?: string } } | undefined)?.master?.address
}
