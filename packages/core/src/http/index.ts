export { addressKey } from './address.ts'
export {
  type Guard,
  httpGuard,
  type PolicyOptions,
  type RateLimitOptions,
  type Verdict,
} from './guard.ts'
export type { Header } from './headers.ts'
export type { Refusal } from './problem.ts'
export type { RequestReader } from './reader.ts'
export type { CostOption, KeyOption, KeySelector } from './selectors.ts'
