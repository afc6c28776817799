export * from '@spillway/memory/adapter'
export { decisionOf, type RateLimit, type RateLimitOptions, rateLimit } from './rate-limit.ts'
