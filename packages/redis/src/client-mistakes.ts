import type { MistakeOf } from './clients.ts'

export const mistakeOf: MistakeOf = (client, can) => {
  if (can('evalsha') && can('createScript'))
    return 'redisStore takes a client of ioredis or of node-redis; got one of @upstash/redis, whose evalsha takes lists of keys and arguments. Pass an object with evalsha, eval and del that calls it: see docs/guides/stores.md#other-clients.'
  if (can('internal_send_command'))
    return 'redisStore needs a client that returns promises; got one of node-redis 3, which takes callbacks. Install redis@4 or newer.'
  if (can('evalSha') && (client as { options?: { legacyMode?: unknown } }).options?.legacyMode === true)
    return 'redisStore needs a client that returns promises; got one of node-redis 4 with `legacyMode: true`, which takes callbacks. Pass `client.v4`.'
  // A client that a Sentinel of node-redis lends has no `connect` either.
  if (can('evalSha') && can('multi') && !can('MULTI') && !can('connect'))
    return 'redisStore needs a client that returns promises; got `client.legacy()` of node-redis, which takes callbacks. Pass the client itself.'
  // A pipeline of ioredis has the first, a transaction of node-redis the others.
  if ((client as { isPipeline?: unknown } | null)?.isPipeline === true || (can('exec') && can('addCommand')))
    return 'redisStore needs a client that sends each command at once; got a transaction or pipeline, as of `client.multi()`. Pass the client.'
  return undefined
}
