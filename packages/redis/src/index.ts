export type { Store } from '@spillway/core'
export type { GlideRedisClient, IoredisClient, NodeRedisClient, RedisClient } from './clients.ts'
export { functionLua } from './lua/function.ts'
export { type RedisStoreOptions, redisStore } from './store.ts'
