import { hash } from 'node:crypto'
import type { Request, Response } from 'express'
import type { Options } from './options.ts'

/** The counts of a request's window, in `req.rateLimit`. */
export interface RateLimitInfo {
  /** The requests allowed per window. */
  limit: number
  /** The requests in this window so far, including this one and denied ones. */
  used: number
  /** The requests remaining in this window, 0 or more. */
  remaining: number
  /** The end of the window; undefined if the store does not report it. */
  resetTime: Date | undefined
  /** The key that the request was counted for. */
  key: string
}

/** The counts of a window that a store has counted. */
export class WindowInfo implements RateLimitInfo {
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly resetTime: Date | undefined
  readonly key: string

  constructor(limit: number, used: number, resetTime: Date | undefined, key: string) {
    this.limit = limit
    this.used = used
    this.remaining = Math.max(limit - used, 0)
    // Copied, because some stores change a date after returning it. Others return null, text or a number.
    this.resetTime = resetTime instanceof Date ? new Date(resetTime.getTime()) : resetTime
    this.key = key
  }

  /** The former name of `used`, for existing code. */
  get current(): number {
    return this.used
  }
}

/** A request with its counts, by the name that `requestPropertyName` has. */
export type AugmentedRequest = Request & Record<string, RateLimitInfo>

/** Sets `X-RateLimit-*`. The reset is a date, so the server's `Date` goes with it. */
export function setLegacyFields(response: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  if (response.headersSent) return
  // Not with String(): a function that returns no limit fails the request, as in express-rate-limit.
  response.setHeader('X-RateLimit-Limit', limit.toString())
  response.setHeader('X-RateLimit-Remaining', String(remaining))
  if (!(resetTime instanceof Date)) return
  response.setHeader('Date', new Date().toUTCString())
  response.setHeader('X-RateLimit-Reset', String(Math.ceil(resetTime.getTime() / 1000)))
}

/** Builds the function that sets the `RateLimit` fields of a draft; only draft 8 uses `name`. */
export function standardFieldsSetter({
  standardHeaders,
  windowMs,
}: Options): (response: Response, info: RateLimitInfo, name: string) => void {
  const window = Math.ceil(windowMs / 1000)
  const partitions = new Map<string, string>()
  return (response, { limit, remaining, resetTime, key }, name) => {
    if (response.headersSent) return
    const reset = secondsTo(resetTime, windowMs)
    if (standardHeaders === 'draft-6') {
      response.setHeader('RateLimit-Policy', `${limit};w=${window}`)
      response.setHeader('RateLimit-Limit', limit.toString())
      response.setHeader('RateLimit-Remaining', String(remaining))
      response.setHeader('RateLimit-Reset', String(reset))
    } else if (standardHeaders === 'draft-7') {
      response.setHeader('RateLimit-Policy', `${limit};w=${window}`)
      response.setHeader('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`)
    } else if (standardHeaders === 'draft-8') {
      const partition = partitions.get(key) ?? rememberedPartition(key, partitions)
      append(response, 'RateLimit', `"${name}"; r=${remaining}; t=${reset}`)
      append(response, 'RateLimit-Policy', `"${name}"; q=${limit}; w=${window}; pk=:${partition}:`)
    }
  }
}

/** Appends to a field. Most often it has no value: then Express takes several times as long to set it. */
function append(response: Response, name: string, value: string): void {
  if (response.hasHeader(name)) response.appendHeader(name, value)
  else response.setHeader(name, value)
}

/** The seconds to the end of the window, rounded up; the length of a window if the end is unknown, which may be null. */
export const secondsTo = (resetTime: Date | undefined, windowMs: number): number =>
  resetTime ? Math.max(Math.ceil((resetTime.getTime() - Date.now()) / 1000), 0) : Math.ceil(windowMs / 1000)

/** The most partitions that a limiter remembers, and the longest key of one. */
const [MOST_PARTITIONS, LONGEST_KEY] = [256, 64]

/** The partition of a key, remembered for the next requests: hashing takes longer than the rest of a request's fields. */
function rememberedPartition(key: string, partitions: Map<string, string>): string {
  const partition = partitionOf(key)
  if (key.length > LONGEST_KEY) return partition
  if (partitions.size === MOST_PARTITIONS) partitions.clear()
  partitions.set(key, partition)
  return partition
}

/** Identifies a client without revealing its key: the first 12 hexadecimal digits of a hash. */
const partitionOf = (key: string): string => btoa(hash('sha256', key, 'hex').slice(0, 12))
