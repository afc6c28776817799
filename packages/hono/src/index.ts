export * from '@spillway/memory/adapter'
export { decisionOf } from './middleware.ts'
export { type Counted, type RateLimit, type RateLimitOptions, rateLimit } from './rate-limit.ts'
