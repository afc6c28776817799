export * from '@spillway/memory/adapter'
export { decisionOf } from './middleware.ts'
export { type RateLimit, type RateLimitOptions, rateLimit } from './rate-limit.ts'
