export * from '@spillway/memory/adapter'
export { type Counted, decisionOf, type RateLimit, type RateLimitOptions, rateLimit } from './rate-limit.ts'
