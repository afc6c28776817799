import { StoreError } from '@spillway/core'
import { formatThrown, formatValue } from '@spillway/core/internal'
import type { RedisAdapter } from './clients.ts'

/** Errors of a healthy server: the keys, their hash slot or the arguments of one call are invalid. */
const isOfOneCall = (reply: string): boolean =>
  /^(CROSSSLOT|CrossSlot|TRYAGAIN|TryAgain|WRONGTYPE)/.test(reply) ||
  (/^(ERR|ResponseError:) /.test(reply) && reply.includes('user_script'))

/** Errors of a script that do not depend on its arguments. Before them, Redis 6 puts `ERR Error running script …: -`. */
const OF_ANY_SCRIPT = /\b(READONLY|OOM|MISCONF|NOREPLICAS|NOPERM) |The user executing the script|ACL failure/

/** What GLIDE puts before the errors of a server. */
const GLIDE_PREFIX = 'An error was signalled by the server: - '

/** What to do about an error, by its message. */
const HINTS: readonly (readonly [message: RegExp, hint: string])[] = [
  [/^The client is (closed|offline)$/, 'Is it connected? Call await client.connect() first.'],
  [/\bREADONLY /, 'The server is a replica, which counts nothing. Connect to the primary.'],
  [/\bOOM /, 'Its memory is full: see docs/guides/redis-eviction.md.'],
  [
    /^All keys in the pipeline /, // cspell:ignore Pipelining
    'Leave out enableAutoPipelining, or use ioredis 6: the store coalesces calls by itself.',
  ],
  [
    /\bNOPERM |The user executing the script|ACL failure/,
    'Give the user what the README of @spillway/redis lists under "A user that may do no more".',
  ],
]

/** A client for one server cannot follow `MOVED`, and does not know which keys share a hash slot. */
const OF_CLUSTERS = /^(MOVED|CROSSSLOT|CrossSlot) ?/
const CLUSTER_HINT =
  'The server is a node of a Redis Cluster. Pass a client for clusters: `new Cluster()` of ioredis, or `createCluster()` of node-redis.'

/** A client with a timeout of its own for commands: the connection may be silent. */
const TIMED_OUT = /^(Command )?timed out$/

/** Removes the password from an error of a command that signs in: those of ioredis have its arguments. */
export function withoutPassword(error: unknown): unknown {
  const { command } = (error ?? {}) as { readonly command?: { readonly name?: unknown; args: unknown } }
  if (/^(auth|hello)$/i.test(`${command?.name}`)) (command as { args: unknown }).args = []
  return error
}

/** Converts an error to a `StoreError` whose message says what to do. */
export function failure(error: unknown, { clustered, silenceRemedy }: RedisAdapter): StoreError {
  if (error instanceof StoreError) return error
  const message = error instanceof Error && error.message !== '' ? formatThrown(error) : formatValue(error)
  const reply = message.replace(GLIDE_PREFIX, '')
  const isOfCluster = !clustered && OF_CLUSTERS.test(reply)
  const ofReply = isOfCluster ? CLUSTER_HINT : HINTS.find(([pattern]) => pattern.test(reply))?.[1]
  const hint = TIMED_OUT.test(reply) ? `If the server is up, the connection may be silent. ${silenceRemedy}` : ofReply
  const text = hint === undefined ? message : `${message.replace(/\.?$/, '.')} ${hint}`
  return new StoreError(`Redis failed: ${text}`, withoutPassword(error), {
    healthy: isOfOneCall(reply) && !OF_ANY_SCRIPT.test(reply),
  })
}
