import type { Decision } from '../decision.ts'
import { QuotaError, shown } from '../errors.ts'
import { type Awaitable, andThen, type MaybePromise, settled } from '../maybe-promise.ts'
import type { Quota } from '../quota.ts'
import { type Logger, warnOnce } from '../warn.ts'
import { seconds } from './headers.ts'
import { byteSequence, integer, quoted } from './structured.ts'

/** What the drafts know to be counted. */
export type QuotaUnit = 'requests' | 'content-bytes' | 'concurrent-requests'

/** What drafts 8 to 11 tell of a policy besides its numbers. */
export interface ToldOptions {
  /**
   * The quota unit that headers report (`qu`).
   * @default `'requests'`
   */
  readonly unit?: QuotaUnit
  /**
   * Returns a few bytes that identify the client's partition in headers (`pk`), computed from the key. Clients read
   * them: use a truncated HMAC of the key, never the key.
   * @default none
   */
  readonly partition?: (key: string) => Awaitable<Uint8Array>
}

/** A quota under the name that headers tell, which is printable ASCII. */
export interface NamedQuota extends Pick<ToldOptions, 'unit'> {
  readonly name: string
  readonly quota: Quota
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
}

/** One policy's answer to a request. */
export interface Told {
  readonly decision: Decision
  readonly item: HeaderItem
  /** The partition of its key as a parameter, `;pk=:AQ==:`, or nothing. */
  readonly pk: string
}

const UNITS: readonly unknown[] = ['requests', 'content-bytes', 'concurrent-requests', undefined]

/** Checks what is said to be counted; throws a QuotaError for what the drafts do not know. */
export function checkUnit(unit: unknown): void {
  if (UNITS.includes(unit)) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `unit must be 'requests', 'content-bytes' or 'concurrent-requests', as headers know them; got ${shown(unit)}.`,
  )
}

/** The item of a policy under another name. */
export function renamedItem({ policy, rest, ...item }: HeaderItem, name: string, shown: string): HeaderItem {
  const renamed = (text: string): string => quoted(shown) + text.slice(quoted(name).length)
  return { ...item, policy: renamed(policy), rest: renamed(rest) }
}

/** Writes what headers say of a policy whatever the request. */
export function headerItem({ name, quota, unit }: NamedQuota): HeaderItem {
  const { limit, window } = advertised(quota)
  const qu = unit === undefined ? '' : `;qu=${quoted(unit)}`
  return {
    policy: `${quoted(name)};q=${limit};w=${window}${qu}`,
    rest: `${quoted(name)};r=`,
    numbers: `${limit};w=${window}`,
    limit,
  }
}

/** What a window in whole seconds may lose of the rate, as long as the limit is what fits at once. */
const TOLERATED_LOSS = 0.1
/** The longest window that is looked at besides, in seconds. */
const LONGEST_SEARCH = 3_600

/**
 * A quota as so many units in so many whole seconds: what fits at once, and how long that takes to come back, rounded
 * up. If that would be less than nine tenths of the sustained rate, it is the rate in the shortest window that has it:
 * `perSecond(100, { burst: 1 })` is 100 in a second, not one.
 */
export function advertised(quota: Quota): { readonly limit: number; readonly window: number } {
  const { limit, window } = quota
  const unit = quota.kernel === 'bucket' && quota.grain === null ? quota.unit / quota.scale : window / limit
  const least = Math.max(Math.ceil((window - limit) / 1e6), 1)
  if (limit * unit >= (1 - TOLERATED_LOSS) * least * 1e6) return { limit: integer(limit), window: integer(least) }
  // Three times a third of a second is one: `unit` is not exact.
  const unitsIn = (seconds: number): number => Math.floor((seconds * 1e6) / unit + 1e-6)
  const loss = (seconds: number): number => 1 - (unitsIn(seconds) * unit) / (seconds * 1e6)
  let best = least
  for (let each = least; each < least + LONGEST_SEARCH && loss(best) >= 0.001; each++) {
    if (loss(each) < loss(best)) best = each
  }
  return { limit: integer(unitsIn(best)), window: integer(best) }
}

/** The value of one field. `scarcest` is the policy with the least left, for fields that tell of one alone. */
export type Field = (told: readonly Told[], scarcest: Told, nowMs: () => number) => string

/** A form of the header fields, under the newest revision that has it. */
export type Wire = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy-delta' | 'legacy-epoch'

/** The fields by form, newest first. Drafts 8 to 11 are one: they name fields and parameters alike. */
export const FIELDS: Readonly<Record<Wire, Readonly<Record<string, Field>>>> = {
  'draft-11': {
    'RateLimit-Policy': (told) => listed(told, ({ item, pk }) => item.policy + pk),
    RateLimit: (told) => listed(told, limitItem),
  },
  'draft-7': {
    'RateLimit-Policy': policyNumbers,
    RateLimit: (_, { item, decision: { remaining, resetAfterMs } }) =>
      `limit=${item.limit}, remaining=${integer(remaining)}, reset=${integer(seconds(resetAfterMs))}`,
  },
  'draft-6': {
    ...counts('RateLimit'),
    'RateLimit-Reset': (_, { decision: { resetAfterMs } }) => String(integer(seconds(resetAfterMs))),
    'RateLimit-Policy': policyNumbers,
  },
  'legacy-delta': {
    ...counts('X-RateLimit'),
    'X-RateLimit-Reset': (_, { decision: { resetAfterMs } }) => String(integer(seconds(resetAfterMs))),
  },
  'legacy-epoch': {
    ...counts('X-RateLimit'),
    'X-RateLimit-Reset': (_, { decision: { resetAfterMs } }, nowMs) => String(integer(seconds(nowMs() + resetAfterMs))),
  },
}

function counts(prefix: string): Record<string, Field> {
  return {
    [`${prefix}-Limit`]: (_, { item }) => String(item.limit),
    [`${prefix}-Remaining`]: (_, { decision: { remaining } }) => String(integer(remaining)),
  }
}

/** `"name";r=50;t=30`; `t` is left out where nothing is missing, and where no time will ever bring more. */
function limitItem({ decision, item, pk }: Told): string {
  const { allowed, remaining, retryAfterMs, replenishAfterMs } = decision
  const wait = seconds(allowed ? replenishAfterMs : retryAfterMs)
  const more = wait > 0 && wait < Infinity ? `;t=${integer(wait)}` : ''
  return item.rest + integer(remaining) + more + pk
}

/** Reads the partition of a key as a parameter. */
export type PartitionReader = (key: string) => MaybePromise<string>

/** Compiles a `partition` option. */
export const partitionReader =
  (partition: NonNullable<ToldOptions['partition']>, logger: Logger): PartitionReader =>
  (key) =>
    andThen<unknown, string>(settled(partition(key)), (bytes) => parameter(bytes, key, logger))

/** The parameter; nothing if the partition is no bytes, or the very key, which is nobody else's business. */
function parameter(bytes: unknown, key: string, logger: Logger): string {
  if (bytes instanceof Uint8Array && !spells(bytes, key)) return `;pk=${byteSequence(bytes)}`
  warnOnce(
    logger,
    'WARN_SPILLWAY_PARTITION',
    'partition must return bytes that do not reveal the key, such as a truncated HMAC. It was left out of the headers.',
  )
  return ''
}

/** Whether bytes are a text, one by one, as they are in every encoding that people use, where the text is ASCII. */
const spells = (bytes: Uint8Array, text: string): boolean =>
  bytes.length === text.length && bytes.every((byte, i) => byte === text.charCodeAt(i))

/** Drafts 6 and 7 tell policies apart by their limit alone: of several with one limit, the first is told. */
function policyNumbers(told: readonly Told[]): string {
  const isFirst = ({ item }: Told, i: number): boolean =>
    told.findIndex((other) => other.item.limit === item.limit) === i
  return listed(told.length === 1 ? told : told.filter(isFirst), ({ item }) => item.numbers)
}

/** The members of a list; spares the list where there is but one. */
function listed(told: readonly Told[], text: (each: Told) => string): string {
  return told.length === 1 ? text(told[0] as Told) : told.map(text).join(', ')
}
