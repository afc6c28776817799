import { createHash } from 'node:crypto'
import type { Response } from 'express'
import type { Options } from './options.ts'

/** What a request is told of its window, in `req.rateLimit`. */
export interface RateLimitInfo {
  /** Requests in a window. */
  readonly limit: number
  /** Requests of the window so far, this one and refused ones included. */
  readonly used: number
  /** Requests that are left of the window, 0 or more. */
  readonly remaining: number
  /** When the window ends, where the store tells. */
  readonly resetTime: Date | undefined
  /** Whom the request was counted for. */
  readonly key: string
}

/** `X-RateLimit-*`, with the reset as a moment, and the date that it is to be read by. */
export function setLegacyFields(response: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  if (response.headersSent) return
  response.setHeader('X-RateLimit-Limit', String(limit))
  response.setHeader('X-RateLimit-Remaining', String(remaining))
  if (resetTime === undefined) return
  response.setHeader('Date', new Date().toUTCString())
  response.setHeader('X-RateLimit-Reset', String(Math.ceil(resetTime.getTime() / 1000)))
}

/** The `RateLimit` fields of a draft; `name` is asked for where they have one. */
export function setStandardFields(
  response: Response,
  info: RateLimitInfo,
  { standardHeaders, windowMs }: Options,
  name: string,
): void {
  if (response.headersSent) return
  const { limit, remaining, resetTime, key } = info
  const window = Math.ceil(windowMs / 1000)
  const reset = secondsTo(resetTime, windowMs)
  if (standardHeaders === 'draft-6') {
    response.setHeader('RateLimit-Policy', `${limit};w=${window}`)
    response.setHeader('RateLimit-Limit', String(limit))
    response.setHeader('RateLimit-Remaining', String(remaining))
    response.setHeader('RateLimit-Reset', String(reset))
  } else if (standardHeaders === 'draft-7') {
    response.setHeader('RateLimit-Policy', `${limit};w=${window}`)
    response.setHeader('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${reset}`)
  } else if (standardHeaders === 'draft-8') {
    response.append('RateLimit', `"${name}"; r=${remaining}; t=${reset}`)
    response.append('RateLimit-Policy', `"${name}"; q=${limit}; w=${window}; pk=:${partitionOf(key)}:`)
  }
}

/** Seconds to the window's end, rounded up; a whole window's where that is not known. */
export const secondsTo = (resetTime: Date | undefined, windowMs: number): number =>
  resetTime === undefined
    ? Math.ceil(windowMs / 1000)
    : Math.max(Math.ceil((resetTime.getTime() - Date.now()) / 1000), 0)

/** Tells a client's share from others' without telling whose it is: the first 12 hexadecimal digits of a hash. */
const partitionOf = (key: string): string =>
  Buffer.from(createHash('sha256').update(key).digest('hex').slice(0, 12)).toString('base64')
