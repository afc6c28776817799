import type { Decision } from '../decision.ts'
import { QuotaError, shown } from '../errors.ts'
import { checkStore } from '../limiter.ts'
import { checkOptions } from '../options.ts'
import { type Ask, ask, book, giveBack, type Policy, policyOf } from '../policy.ts'
import type { Quota } from '../quota.ts'
import { later } from '../sleep.ts'
import type { Store } from '../store.ts'
import { type Duration, type Micros, micros } from '../time.ts'
import { type Header, limitItem, policyItem, seconds } from './headers.ts'
import { quotaExceeded, type Refusal } from './problem.ts'
import type { RequestReader } from './reader.ts'
import { type CostOptions, costReader, type KeyOption, keyReader } from './selectors.ts'

/** A named quota with whom it counts and how much a request takes. */
export interface PolicyOptions<R> extends CostOptions<R> {
  /** The name in headers and problem documents; `'default'` unless given. */
  readonly name?: string
  readonly quota: Quota
  /** Whom to count; `'ip'` unless given. */
  readonly key?: KeyOption<R>
}

interface CommonOptions<R> {
  /** Where the counts live; each adapter brings a memory store of its own. */
  readonly store?: Store
  /** How the client is told: header fields of the RateLimit drafts 08 to 11, or none. */
  readonly headers?: 'draft-11' | false
  /** Requests that are let through uncounted. */
  readonly skip?: (request: R) => boolean
  /** How long a request may be held back until it fits; without it, one that does not fit at once is refused. */
  readonly maxWait?: Duration
  /** How many leading bits of an IPv6 address make one client: 32 to 128; 56 unless given. */
  readonly ipv6Prefix?: number
}

/** What `rateLimit` takes in every framework: one policy written flat, or a list of them. */
export type RateLimitOptions<R> = CommonOptions<R> &
  (
    | (PolicyOptions<R> & { readonly policies?: never })
    | ({ readonly policies: readonly PolicyOptions<R>[] } & { readonly [K in keyof PolicyOptions<R>]?: never })
  )

/** What an adapter is to do with a request. */
export interface Verdict {
  /** The answer, unless the request was not counted. */
  readonly decision: Decision | undefined
  readonly headers: readonly Header[]
  /** What to answer instead of passing the request on; undefined lets it pass. */
  readonly refusal: Refusal | undefined
}

/** Judges a request: at once when the store is in this process. */
export type Guard<R> = (request: R) => Verdict | Promise<Verdict>

const PASS: Verdict = Object.freeze({ decision: undefined, headers: Object.freeze([]), refusal: undefined })
const COMMON_OPTIONS = ['store', 'headers', 'skip', 'maxWait', 'ipv6Prefix']
const POLICY_OPTIONS = ['name', 'quota', 'key', 'cost', 'defaultCost', 'maxCost']

/** Builds the one pipeline from request to verdict that every adapter calls. */
export function httpGuard<R>(
  options: RateLimitOptions<R> & { readonly store: Store },
  reader: RequestReader<R>,
): Guard<R> {
  checkOptions(
    'rateLimit',
    options,
    options.policies ? ['policies', ...COMMON_OPTIONS] : [...POLICY_OPTIONS, ...COMMON_OPTIONS],
  )
  const store = checkStore(options.store)
  const { skip, headers: draft = 'draft-11', ipv6Prefix = 56 } = options
  if (draft !== 'draft-11' && draft !== false) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `headers must be 'draft-11' or false; got ${shown(draft)}.`)
  }
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 128) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `ipv6Prefix must be 32 to 128 bits; got ${shown(ipv6Prefix)}.`)
  }
  const patience = options.maxWait === undefined ? 0 : micros(options.maxWait, 'maxWait')
  for (const each of options.policies ?? []) checkOptions('a policy', each, POLICY_OPTIONS)
  const rules = (options.policies ?? [options as PolicyOptions<R>]).map((each) => ruleOf(each, reader, ipv6Prefix))
  checkNames(rules.map((rule) => rule.policy.name))

  const verdict = (decision: Decision): Verdict => ({
    decision,
    headers: draft ? headersFor(decision, rules) : retryAfter(decision),
    refusal: decision.allowed ? undefined : quotaExceeded(decision),
  })
  return (request) => {
    if (skip?.(request)) return PASS
    const asks = asksOf(rules, request)
    if (asks.length === 0) return PASS
    if (patience > 0 || asks.some(queues)) return hold(store, asks, patience, reader, request).then(verdict)
    const decision = ask(store, 'consume', asks)
    return decision instanceof Promise ? decision.then(verdict) : verdict(decision)
  }
}

/** A bucket that takes more than it lets go at once makes requests wait their turn. */
const queues = ({ policy: { quota } }: Ask): boolean => quota.kernel === 'bucket' && quota.prompt < quota.limit

/** Holds a request back until its turn. One whose client goes away leaves the queue, and its units are given back. */
async function hold<R>(
  store: Store,
  asks: readonly Ask[],
  patience: Micros,
  reader: RequestReader<R>,
  request: R,
): Promise<Decision> {
  const booking = await book(store, asks, patience)
  const { decision } = booking
  if (!decision.allowed || decision.delayMs === 0) return decision
  const stayed = await new Promise<boolean>((resolve) => {
    const stop = later(decision.delayMs, () => {
      forget()
      resolve(true)
    })
    const forget = reader.onGone(request, () => {
      stop()
      resolve(false)
    })
  })
  if (stayed) return decision
  await giveBack(store, asks, booking)
  return { ...decision, allowed: false }
}

interface Rule<R> {
  readonly policy: Policy
  readonly keyOf: (request: R) => string | undefined
  readonly costOf: (request: R) => number
  /** The policy's member of `RateLimit-Policy`, written once. */
  readonly item: string
}

function ruleOf<R>(options: PolicyOptions<R>, reader: RequestReader<R>, ipv6Prefix: number): Rule<R> {
  const { name = 'default', quota, key = 'ip' } = options
  const policy = policyOf(name, quota)
  const keyOf = keyReader(key, reader, ipv6Prefix)
  return { policy, keyOf, costOf: costReader(options, reader), item: policyItem(name, quota) }
}

function checkNames(names: readonly string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (names.length > 0 && twice === undefined) return
  const problem = names.length === 0 ? 'policies is empty.' : `two policies are named ${shown(twice)}.`
  throw new QuotaError('ERR_SPILLWAY_OPTION', `rateLimit: ${problem} Give it policies with a name each.`)
}

function asksOf<R>(rules: readonly Rule<R>[], request: R): readonly Ask[] {
  const asks: Ask[] = []
  for (const { policy, keyOf, costOf } of rules) {
    const key = keyOf(request)
    if (key !== undefined) asks.push({ policy, key: textKey(key), cost: costOf(request) })
  }
  return asks
}

/** A key may be empty here, unlike in a program's own calls: what a request lacks is all such requests' key. */
function textKey(key: unknown): string {
  if (typeof key === 'string') return key
  throw new QuotaError('ERR_SPILLWAY_KEY', `key must return a string or undefined; got ${shown(key)}. Write String(…).`)
}

function headersFor<R>(decision: Decision, rules: readonly Rule<R>[]): readonly Header[] {
  const told = decision.policies ?? [decision]
  const items = told.map(({ policy }) => rules.find((rule) => rule.policy.name === policy)?.item)
  return [
    ['RateLimit-Policy', items.join(', ')],
    ['RateLimit', told.map(limitItem).join(', ')],
    ...retryAfter(decision),
  ]
}

/** `Retry-After` (RFC 9110, section 10.2.3), where waiting helps. */
function retryAfter({ allowed, retryAfterMs }: Decision): readonly Header[] {
  return allowed || retryAfterMs === Infinity ? [] : [['Retry-After', String(seconds(retryAfterMs))]]
}
