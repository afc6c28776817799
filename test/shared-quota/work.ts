import { tokenBucket } from '@spillway/core'

/** The stores of a process: the port of Redis, and the options of `pg`. */
export interface Servers {
  readonly redis: number
  readonly postgres: { readonly host: string; readonly user: string; readonly database: string }
}

/** Each process consumes until so many requests are denied: then the bucket has been empty for a while, on any machine. */
export const DENIED = 5_000

export interface Counts {
  admitted: number
  decisions: number
  calls: number
}

export const NAME = 'shared'
export const KEY = 'hot'

/** 1 % of it are 600 units, which a process holds for 300 ms. */
export const quota = tokenBucket({ limit: 2_000, per: '1s', burst: 60_000 })
