import { seconds } from '../../http/headers/answer-headers.ts'
import { limitItem, type PolicyResult } from '../../http/headers/header-item.ts'
import { integer } from '../../http/headers/structured.ts'

/** Formats the value of one field. */
export interface Field {
  /**
   * Of one policy, unless the field reports all of them. `resetMs` is the time until its quota is full, or, if it denies,
   * that of `Retry-After`.
   */
  readonly one: (result: PolicyResult, resetMs: number, nowMs: () => number) => string
  /** Of several policies, for fields that report all of them. */
  readonly all?: (results: readonly PolicyResult[]) => string
}

/** A format of the header fields, named after the newest revision that defines it. */
export type Wire = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy-delta' | 'legacy-epoch'

const limit: Field = { one: ({ item }) => String(item.limit) }
const remaining: Field = { one: ({ decision }) => String(integer(decision.remaining)) }

/** The fields by format, newest first. Drafts 8 to 11 are one format: they define the same fields and parameters. */
export const FIELDS: Readonly<Record<Wire, Readonly<Record<string, Field>>>> = {
  'draft-11': {
    'RateLimit-Policy': listing(({ item, pk }) => item.policy[1] + pk),
    RateLimit: listing(({ decision, item, pk }) => limitItem(decision, item, pk)),
  },
  'draft-7': {
    'RateLimit-Policy': listing(numbers, eachLimit),
    RateLimit: {
      one: ({ item, decision: { remaining } }, resetMs) =>
        `limit=${item.limit}, remaining=${integer(remaining)}, reset=${integer(seconds(resetMs))}`,
    },
  },
  'draft-6': {
    'RateLimit-Limit': limit,
    'RateLimit-Remaining': remaining,
    'RateLimit-Reset': { one: secondsToReset },
    'RateLimit-Policy': listing(numbers, eachLimit),
  },
  'legacy-delta': {
    'X-RateLimit-Limit': limit,
    'X-RateLimit-Remaining': remaining,
    'X-RateLimit-Reset': { one: secondsToReset },
  },
  'legacy-epoch': {
    'X-RateLimit-Limit': limit,
    'X-RateLimit-Remaining': remaining,
    'X-RateLimit-Reset': {
      one: (_, resetMs, nowMs) => String(integer(seconds(nowMs() + resetMs))),
    },
  },
}

/** A field that lists policies: all of them, or those that `some` leaves. */
/* @__NO_SIDE_EFFECTS__ */
function listing(
  one: (each: PolicyResult) => string,
  some: (results: readonly PolicyResult[]) => readonly PolicyResult[] = (results) => results,
): Field {
  return { one, all: (results) => some(results).map(one).join(', ') }
}

function numbers({ item }: PolicyResult): string {
  return item.numbers
}

/** Drafts 6 and 7 identify a policy by its limit: of several policies with one limit, only the first is listed. */
function eachLimit(results: readonly PolicyResult[]): readonly PolicyResult[] {
  return results.filter(({ item }, i) => results.findIndex((other) => other.item.limit === item.limit) === i)
}

function secondsToReset(_: PolicyResult, resetMs: number): string {
  return String(integer(seconds(resetMs)))
}
