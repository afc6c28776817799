import { dialects, SHOPIFY } from './dialects.ts'
import { count, type Member, membersOf, numberOf } from './members.ts'
import { dateMs, inMillis, resetMs, retryAfterMs } from './times.ts'

/** The header fields of an answer: `Headers`, or an object as Node has, with names in lower case. */
export type AnswerHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | number | undefined>>

/** A limit that the headers of an answer report. What they do not say is undefined. */
export interface ReportedLimit {
  /** The name of its policy. */
  readonly name: string | undefined
  /** What it counts, such as `'requests'`, which is the default, `'tokens'` or `'concurrent-requests'`. */
  readonly unit: string
  /** Units in a window. */
  readonly limit: number | undefined
  /** The length of the window. */
  readonly windowMs: number | undefined
  /** Units that remain. */
  readonly remaining: number | undefined
  /** The time until more units are available; 0 if it is over. */
  readonly resetAfterMs: number | undefined
}

/** What the headers of an answer report about limits. */
export interface RateLimitReport {
  /** How long to wait before the next request, by `retry-after-ms` or `Retry-After`; undefined without them. */
  readonly retryAfterMs: number | undefined
  /** The limits, none if there are no such headers. */
  readonly limits: readonly ReportedLimit[]
}

/**
 * Reads what an answer reports about limits: `Retry-After` and `retry-after-ms`, drafts 6 to 11 of
 * `draft-ietf-httpapi-ratelimit-headers`, and `X-RateLimit-*` as GitHub, OpenAI, Anthropic, Discord, Shopify, X and others send
 * them. What is malformed is left out. Dates are compared with the `Date` of the answer, or without it with `nowMs`, the
 * milliseconds since 1970.
 */
export function readRateLimit(headers: AnswerHeaders, nowMs: number = Date.now()): RateLimitReport {
  const field = (name: string): string | undefined => textOf(headers, name)
  const sentMs = dateMs(field('date') ?? '') ?? nowMs
  const wait = field('retry-after')
  return {
    retryAfterMs: count(field('retry-after-ms')) ?? (wait === undefined ? undefined : retryAfterMs(wait, sentMs)),
    limits: [...listed(field), ...singles(field, sentMs)],
  }
}

type Field = (name: string) => string | undefined

/** A field; of several of one name, all of them as one list. Undefined if it is empty. */
function textOf(headers: AnswerHeaders, name: string): string | undefined {
  const { get } = headers
  const value =
    typeof get === 'function' ? get.call(headers, name) : (headers as Readonly<Record<string, unknown>>)[name]
  return (Array.isArray(value) ? value.join(', ') : String(value ?? '')).trim() || undefined
}

/** What drafts 7 to 11 list in `RateLimit` and `RateLimit-Policy`. */
function listed(field: Field): readonly ReportedLimit[] {
  const policies = membersOf(field('ratelimit-policy') ?? '').map(policyOf)
  const states = membersOf(field('ratelimit') ?? '')
  const limit = numberOf(states, 'limit')
  if (limit !== undefined) {
    const [policy] = policies.filter((each) => each.limit === limit)
    const [remaining, resetAfterMs] = [numberOf(states, 'remaining'), inMillis(numberOf(states, 'reset'))]
    return [{ ...NONE, windowMs: policy?.windowMs, limit, remaining, resetAfterMs }]
  }
  const named = states.filter(({ name, parameters }) => name !== '' && numberOf(parameters, 'r') !== undefined)
  const reported = named.map(({ name, parameters }) => ({
    ...(policies.find((each) => each.name === name) ?? { ...NONE, name }),
    remaining: numberOf(parameters, 'r'),
    resetAfterMs: inMillis(numberOf(parameters, 't')),
  }))
  // Draft 6 lists windows in it, which `RateLimit-Limit` refers to.
  const others = policies.filter(({ name, limit }) => limit !== undefined && named.every((each) => each.name !== name))
  return field('ratelimit-limit') === undefined ? [...reported, ...others] : reported
}

const NONE = {
  name: undefined,
  unit: 'requests',
  limit: undefined,
  windowMs: undefined,
  remaining: undefined,
  resetAfterMs: undefined,
}

/** `"default";q=100;w=60` of drafts 8 to 11, or `100;w=60` of those before. */
function policyOf({ name, parameters }: Member): ReportedLimit {
  const windowMs = inMillis(numberOf(parameters, 'w'))
  const limit = numberOf(parameters, 'q')
  if (limit === undefined) return { ...NONE, limit: count(name), windowMs }
  return { ...NONE, name, unit: parameters.find((each) => each.name === 'qu')?.value ?? 'requests', limit, windowMs }
}

/** What fields report that have one number each. */
function singles(field: Field, sentMs: number): readonly ReportedLimit[] {
  const found = dialects().map(([prefix, suffix, unit]): ReportedLimit => {
    const limits = membersOf(field(`${prefix}limit${suffix}`) ?? '')
    const limit = count(limits[0]?.name)
    const after = count(field(`${prefix}reset-after${suffix}`))
    const reset = field(`${prefix}reset${suffix}`)
    return {
      ...NONE,
      unit,
      limit,
      windowMs: windowOf(limit, [...limits.slice(1), ...membersOf(field(`${prefix}policy`) ?? '')]),
      remaining: count(field(`${prefix}remaining${suffix}`)),
      resetAfterMs: after === undefined ? reset && resetMs(reset, sentMs) : inMillis(after),
    } as ReportedLimit
  })
  const [used, size] = (field(SHOPIFY) ?? '').split('/').map(count)
  if (used !== undefined && size) found.push({ ...NONE, limit: size, remaining: Math.max(size - used, 0) })
  return found.filter(({ limit, remaining }) => limit !== undefined || remaining !== undefined)
}

/** The window that draft 6 lists for a limit. */
const windowOf = (limit: number | undefined, policies: readonly Member[]): number | undefined =>
  policies.map(policyOf).find((each) => each.name === undefined && each.limit === limit && limit !== undefined)
    ?.windowMs
