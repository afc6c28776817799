export { type Cached, cached, type QuotasOf } from './cached.ts'
export type { Lookup } from './lookups.ts'
export type { CachedOptions } from './options.ts'
