export type { IoredisClient, NodeRedisClient, RedisClient } from './clients.ts'
export { type RedisStoreOptions, redisStore } from './store.ts'
