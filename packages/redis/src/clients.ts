import { type Deadline, QuotaError } from '@spillway/core'
import { expiredError, formatValue, isExpired } from '@spillway/core/internal'
import type { EvalRequest } from './call.ts'
import type { Script } from './script.ts'

/** The methods that a `Redis` or `Cluster` of ioredis, or your own object for another client, must have. */
export interface IoredisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
  /** `SCAN` with `MATCH` and `COUNT`: `resetAll` needs it and `unlink`, and rejects if they are missing. */
  scan?(
    cursor: string,
    match: 'MATCH',
    pattern: string,
    count: 'COUNT',
    keys: string,
  ): Promise<readonly [cursor: string, names: readonly string[]]>
  unlink?(...keys: string[]): Promise<unknown>
}

/** The methods that a client, cluster or pool of node-redis must have. */
export interface NodeRedisClient {
  evalSha(sha: string, request: EvalRequest): Promise<unknown>
  eval(script: string, request: EvalRequest): Promise<unknown>
  del(key: string): Promise<unknown>
}

/** What a cluster of node-redis 4 has besides. */
interface NodeRedisCluster4 extends NodeRedisClient {
  sendCommand(firstKey: string | undefined, isReadonly: boolean, words: readonly string[]): Promise<unknown>
}

/** The methods that a `GlideClient` or `GlideClusterClient` of Valkey GLIDE must have. */
export interface GlideRedisClient {
  customCommand(words: string[], options?: object): Promise<unknown>
  del(keys: string[]): Promise<unknown>
  unlink(keys: string[]): Promise<unknown>
}

/** A client that the application owns: it connects and closes it. */
export type RedisClient = IoredisClient | NodeRedisClient | GlideRedisClient

/** One interface to Redis for all clients. */
export interface RedisAdapter {
  /** Whether all keys of one call must share a hash slot. */
  readonly clustered: boolean
  /** Whose methods the client has. */
  readonly dialect: DialectName
  /** Which option lets the client leave a connection that has gone silent, without an end. */
  readonly silenceRemedy: string
  /** The node that serves a hash slot, as far as the client knows. */
  nodeOf(slot: number): string | undefined
  run(request: EvalRequest, deadline?: Deadline): Promise<readonly unknown[]>
  /** What the server, or one of a cluster, reports of its memory; undefined if the client cannot ask. */
  memoryInfo(): Promise<unknown>
  /** Deletes a key, and returns how many keys were deleted: 0 or 1. */
  deleteKey(name: string): Promise<number>
}

/** The libraries of clients, by whose methods one is called. */
export type DialectName = 'ioredis' | 'node-redis' | 'GLIDE' | 'GLIDE cluster'

/** Reports whether a client has a method. */
export type Can = (method: string) => boolean

/** Says why a client cannot be used, and what to write instead; undefined if it does not know. */
export type MistakeOf = (client: unknown, can: Can) => string | undefined

/** Recognises the clients of a library by their methods; undefined for others. */
export type ClientOf = (client: RedisClient, can: Can) => RedisAdapter | undefined

/** Recognises a client by its methods: class names change with versions, bundlers and subclasses. */
export function redisOf(client: RedisClient, mistakeOf: MistakeOf, ofOthers?: ClientOf): RedisAdapter {
  const can = (method: string): boolean =>
    typeof (client as unknown as Record<string, unknown> | null | undefined)?.[method] === 'function'
  const mistake = mistakeOf(client, can)
  const redis =
    mistake === undefined ? (ofNodeRedis(client, can) ?? ofOthers?.(client, can) ?? ofIoredis(client, can)) : undefined
  if (redis !== undefined) return redis
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    mistake ??
      `redisStore takes a client of ioredis, \`new Redis()\`, or of node-redis, \`createClient()\`; got ${formatValue(client)}. For others, see docs/guides/stores.md#other-clients.`,
  )
}

const ofNodeRedis: ClientOf = (client, can) => {
  if (!can('evalSha')) return undefined
  // Clusters of node-redis 4 have the first method, and all since 4.5 the second.
  const isOf45 = can('getSlotRandomNode')
  const isBefore45 = can('getSlotMaster') && !isOf45
  return adapterFor(
    client as NodeRedisClient,
    isBefore45 || isOf45,
    isBefore45 ? { ...nodeRedis, evaluate } : nodeRedis,
  )
}

/** A cluster of 4.0 sends EVAL and EVALSHA to any node, and gives up after eight redirections, unless it is given the key. */
const evaluate: Dialect<NodeRedisClient>['evaluate'] = (client, by, request) =>
  (client as NodeRedisCluster4).sendCommand(request.keys[0], false, commandOf(by, request))

const ofIoredis: ClientOf = (client, can) =>
  can('evalsha')
    ? adapterFor(client as IoredisClient, (client as { isCluster?: unknown }).isCluster === true, ioredis)
    : undefined

/** How the methods of a client are called. */
export interface Dialect<Client> {
  readonly name: DialectName
  evaluate(client: Client, by: 'sha' | 'text', request: EvalRequest): Promise<unknown>
  deleteKey(client: Client, name: string): Promise<unknown>
  memoryInfo(client: Client, clustered: boolean): Promise<unknown>
  readonly silenceRemedy: string
}

/** The words of a command that runs a script, for clients that take commands as lists. */
export function commandOf(by: 'sha' | 'text', { script, keys, arguments: rest }: EvalRequest): string[] {
  const words = by === 'sha' ? ['EVALSHA', script.sha] : ['EVAL', script.text]
  return [...words, `${keys.length}`, ...keys, ...rest]
}

const infoOf = async (client: object): Promise<unknown> =>
  (client as { info?: (section: string) => Promise<unknown> }).info?.('memory')

const nodeRedis: Dialect<NodeRedisClient> = {
  name: 'node-redis',
  evaluate: (client, by, request) =>
    by === 'sha' ? client.evalSha(request.script.sha, request) : client.eval(request.script.text, request),
  deleteKey: (client, name) => client.del(name),
  memoryInfo: infoOf,
  silenceRemedy:
    'Give node-redis (5.6 or newer) `socketTimeout` and, because it otherwise closes for good, a `reconnectStrategy`.',
}

const ioredis: Dialect<IoredisClient> = {
  name: 'ioredis',
  evaluate: (client, by, { script, keys, arguments: rest }) =>
    by === 'sha'
      ? client.evalsha(script.sha, keys.length, ...keys, ...rest)
      : client.eval(script.text, keys.length, ...keys, ...rest),
  deleteKey: (client, name) => client.del(name),
  memoryInfo: infoOf,
  silenceRemedy: 'Give ioredis (5.6 or newer) or iovalkey `socketTimeout`.',
}

/** Why what a client resolved with is not the reply of a script. */
const whyNoReply = (answer: unknown): string =>
  String(answer) === 'QUEUED'
    ? 'the script is queued in a transaction (MULTI) that other code has begun on this connection. Give the store a client of its own.'
    : `the client resolved with ${formatValue(answer)} instead of the reply of a script, which is an array. Does each method return a promise of the reply?`

/** How long a call without a deadline is retried while its hash slot moves, and the delay between attempts. */
const MOVING_MS = 1_000
const TRY_AGAIN_MS = 10

export function adapterFor<Client extends RedisClient>(
  client: Client,
  clustered: boolean,
  dialect: Dialect<Client>,
): RedisAdapter {
  // A script is sent by its text until a server has run it. A digest that the server does not know costs another round trip,
  // in which later calls overtake this one: a refund would no longer be of the last turn.
  const known = new Set<Script>()
  const evaluate = async (by: 'sha' | 'text', request: EvalRequest): Promise<readonly unknown[]> => {
    const answer = await dialect.evaluate(client, by, request)
    if (!Array.isArray(answer)) throw new TypeError(whyNoReply(answer))
    known.add(request.script)
    return answer
  }
  const run = async (
    request: EvalRequest,
    deadline?: Deadline,
    by: 'sha' | 'text' = known.has(request.script) ? 'sha' : 'text',
    movesUntilMs?: number,
  ): Promise<readonly unknown[]> => {
    try {
      return await evaluate(by, request)
    } catch (error) {
      const untilMs = movesUntilMs ?? lastAttemptMs(deadline)
      // A server that was restarted, flushed or promoted does not have the script, and did not run it.
      const isUnknown = by === 'sha' && isReply(error, 'NOSCRIPT')
      if (isUnknown) known.delete(request.script)
      else await untilMoved(error, untilMs)
      // If its caller has stopped waiting, what it takes would have to be refunded. Nothing has been executed.
      if (isExpired(deadline)) throw expiredError()
      return run(request, deadline, isUnknown ? 'text' : by, untilMs)
    }
  }
  return {
    clustered,
    silenceRemedy: dialect.silenceRemedy,
    dialect: dialect.name,
    nodeOf: (slot) => nodeIn((client as { slots?: unknown }).slots, slot),
    run,
    memoryInfo: () => dialect.memoryInfo(client, clustered),
    deleteKey: async (name) => Number(await dialect.deleteKey(client, name)),
  }
}

/** When a call is sent for the last time. A tenth of the time that is left is for its answer: "TRYAGAIN" is no timeout. */
function lastAttemptMs(deadline: Deadline | undefined): number {
  const nowMs = performance.now()
  return nowMs + ((deadline?.atMs ?? nowMs + MOVING_MS) - nowMs) * 0.9
}

/** Waits while a hash slot moves: its keys are on two nodes, and the script did not run. Rejects with any other error. */
async function untilMoved(error: unknown, untilMs: number): Promise<void> {
  if (!isReply(error, 'TRYAGAIN') || performance.now() + TRY_AGAIN_MS >= untilMs) throw error
  await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS))
}

/** GLIDE has names of its own for codes, `NoScriptError` for `NOSCRIPT`, and puts other words before them. */
const GLIDE_CODES = { NOSCRIPT: ' NoScriptError:', TRYAGAIN: ' TryAgain:' }

const isReply = (error: unknown, code: keyof typeof GLIDE_CODES): boolean =>
  error instanceof Error && (error.message.startsWith(code) || error.message.includes(GLIDE_CODES[code]))

/** Both clients keep a list of all hash slots: ioredis lists node names, node-redis lists shards. */
function nodeIn(slots: unknown, slot: number): string | undefined {
  const shard = (slots as readonly unknown[] | undefined)?.[slot] as
    | readonly [string]
    | { readonly master?: { readonly address?: string } }
    | undefined
  return Array.isArray(shard) ? shard[0] : (shard as { master?: { address?: string } } | undefined)?.master?.address
}
