import type { Decision } from '../decision.ts'
import { QuotaError, shown } from '../errors.ts'
import type { Quota } from '../quota.ts'
import { seconds } from './headers.ts'
import { byteSequence, integer, quoted } from './structured.ts'

/** A policy as headers tell it. */
export interface ToldPolicy {
  /** Printable ASCII. */
  readonly name: string
  readonly quota: Quota
  /** What is counted; requests unless given. Told in drafts 8 to 11 only. */
  readonly qu?: 'requests' | 'content-bytes' | 'concurrent-requests'
  /** The bytes that tell a key's share from others'; told in drafts 8 to 11 only, hence never an identity. */
  readonly pk?: (key: string) => Uint8Array
}

/** What headers say of a policy whatever the request, written once. */
export interface HeaderItem {
  /** `"name";q=100;w=60`: what drafts 8 to 11 list in `RateLimit-Policy`. */
  readonly policy: string
  /** `"name";r=`: how its item in their `RateLimit` begins. */
  readonly rest: string
  /** `100;w=60`: what drafts 6 and 7 list in `RateLimit-Policy`. */
  readonly numbers: string
  readonly limit: number
  readonly pk: ((key: string) => Uint8Array) | undefined
}

/** One policy's answer to a request. */
export interface Told {
  readonly decision: Decision
  readonly key: string
  readonly item: HeaderItem
}

const UNITS: readonly unknown[] = ['requests', 'content-bytes', 'concurrent-requests', undefined]

/**
 * Writes what headers say of a policy whatever the request. The window is rounded up to whole seconds, which is never
 * more than the quota really allows. Throws a QuotaError for a `qu` that the drafts do not know.
 */
export function headerItem({ name, quota, qu, pk }: ToldPolicy): HeaderItem {
  if (!UNITS.includes(qu)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `qu must be 'requests', 'content-bytes' or 'concurrent-requests'; got ${shown(qu)}.`,
    )
  }
  const limit = integer(quota.limit)
  const window = integer(Math.ceil(quota.window / 1e6))
  const unit = qu === undefined ? '' : `;qu=${quoted(qu)}`
  return {
    policy: `${quoted(name)};q=${limit};w=${window}${unit}`,
    rest: `${quoted(name)};r=`,
    numbers: `${limit};w=${window}`,
    limit,
    pk,
  }
}

/** The value of one field. `scarcest` is the policy with the least left, for fields that tell of one alone. */
export type Field = (told: readonly Told[], scarcest: Decision, nowMs: () => number) => string

/** A form of the header fields, under the newest revision that has it. */
export type Wire = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy-delta' | 'legacy-epoch'

/** The fields by form, newest first. Drafts 8 to 11 are one: they name fields and parameters alike. */
export const FIELDS: Readonly<Record<Wire, Readonly<Record<string, Field>>>> = {
  'draft-11': {
    'RateLimit-Policy': (told) => listed(told, ({ item, key }) => item.policy + partition(item, key)),
    RateLimit: (told) => listed(told, limitItem),
  },
  'draft-7': {
    'RateLimit-Policy': policyNumbers,
    RateLimit: (_, { limit, remaining, resetAfterMs }) =>
      `limit=${integer(limit)}, remaining=${integer(remaining)}, reset=${integer(seconds(resetAfterMs))}`,
  },
  'draft-6': {
    ...counts('RateLimit'),
    'RateLimit-Reset': (_, { resetAfterMs }) => String(integer(seconds(resetAfterMs))),
    'RateLimit-Policy': policyNumbers,
  },
  'legacy-delta': {
    ...counts('X-RateLimit'),
    'X-RateLimit-Reset': (_, { resetAfterMs }) => String(integer(seconds(resetAfterMs))),
  },
  'legacy-epoch': {
    ...counts('X-RateLimit'),
    'X-RateLimit-Reset': (_, { resetAfterMs }, nowMs) => String(integer(seconds(nowMs() + resetAfterMs))),
  },
}

function counts(prefix: string): Record<string, Field> {
  return {
    [`${prefix}-Limit`]: (_, { limit }) => String(integer(limit)),
    [`${prefix}-Remaining`]: (_, { remaining }) => String(integer(remaining)),
  }
}

/** `"name";r=50;t=30`; `t` is left out where nothing is missing, and where no time will ever bring more. */
function limitItem({ decision, key, item }: Told): string {
  const { allowed, remaining, retryAfterMs, replenishAfterMs } = decision
  const wait = seconds(allowed ? replenishAfterMs : retryAfterMs)
  const more = wait > 0 && wait < Infinity ? `;t=${integer(wait)}` : ''
  return item.rest + integer(remaining) + more + partition(item, key)
}

const partition = ({ pk }: HeaderItem, key: string): string => (pk === undefined ? '' : `;pk=${byteSequence(pk(key))}`)

/** Drafts 6 and 7 tell policies apart by their limit alone: of several with one limit, the first is told. */
function policyNumbers(told: readonly Told[]): string {
  return listed(
    told.filter(({ item }, i) => told.findIndex((other) => other.item.limit === item.limit) === i),
    ({ item }) => item.numbers,
  )
}

/** The members of a list; spares the list where there is but one. */
function listed(told: readonly Told[], text: (each: Told) => string): string {
  return told.length === 1 ? text(told[0] as Told) : told.map(text).join(', ')
}
