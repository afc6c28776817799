export * from '@spillway/memory/adapter'
export { type RateLimit, type RateLimitOptions, rateLimit } from './rate-limit.ts'
export { decisionOf } from './reader.ts'
