import type { Decision } from '../decision.ts'
import { QuotaError, StoreError, shown } from '../errors.ts'
import { checkStore } from '../limiter.ts'
import { checkOptions } from '../options.ts'
import { type Ask, ask, type Booking, put } from '../policy.ts'
import type { Store } from '../store.ts'
import { DEADLINE, type Duration, micros } from '../time.ts'
import { warnOnce } from '../warn.ts'
import { clientAddress } from './client.ts'
import { checkStoreError, decideWithout, type StoreErrorOption } from './degraded.ts'
import { type DecisionEvent, reporter } from './events.ts'
import type { Header } from './headers.ts'
import { hold, queues } from './hold.ts'
import { type DeniedOption, type Refusal, refusalOf } from './problem.ts'
import type { Claims, RequestReader } from './reader.ts'
import { POLICY_OPTIONS, type PolicyOptions, type Rule, rulesOf } from './rule.ts'
import type { Sources } from './selectors.ts'
import { type RequestDecision, type Settlement, type SettleOptions, settlementOf } from './settlement.ts'
import { type TellOptions, tellerOf } from './teller.ts'
import type { TrustProxy } from './trust.ts'

/** What concerns all policies of a limiter. */
interface CommonOptions<R> extends SettleOptions, TellOptions {
  /** Where the counts live; each adapter brings a memory store of its own. */
  readonly store?: Store
  /** Requests that are let through uncounted. */
  readonly skip?: (request: R) => boolean
  /** How long a request may be held back until it fits; without it, one that does not fit at once is refused. */
  readonly maxWait?: Duration
  /** How long to wait for the store's answer, where it is not in this process; 50 ms unless given. */
  readonly deadline?: Duration
  /** What to do when the store does not answer; `'allow'` unless given. */
  readonly onStoreError?: StoreErrorOption
  /**
   * Which proxies stand in front of the app, if the framework is not to decide: how many, or their addresses. The
   * client is then read from `X-Forwarded-For`, from the right, or from the header named.
   */
  readonly trustProxy?: TrustProxy
  /** How many leading bits of an IPv6 address make one client: 32 to 128; 56 unless given. */
  readonly ipv6Prefix?: number
  /** What the app knows of the user, for `claim:` selectors and matches. */
  readonly claims?: Claims<R>
  /** What to answer a refused request instead of the problem document. */
  readonly onDenied?: DeniedOption<R>
  /** Is told of every decision. */
  readonly onDecision?: (event: DecisionEvent<R>) => void
}

/** What `rateLimit` takes in every framework: one policy written flat, or a list of them. */
export type RateLimitOptions<R, S = unknown> = CommonOptions<R> &
  (
    | (PolicyOptions<R, S> & { readonly policies?: never })
    | ({ readonly policies: readonly PolicyOptions<R, S>[] } & {
        readonly [K in Exclude<keyof PolicyOptions<R, S>, keyof CommonOptions<R>>]?: never
      })
  )

/** What an adapter is to do with a request. */
export interface Verdict<S = unknown> {
  /** What handlers are told, unless the request was not counted. */
  readonly decision: RequestDecision | undefined
  readonly headers: readonly Header[]
  /** What to answer instead of passing the request on; undefined lets it pass. */
  readonly refusal: Refusal | undefined
  /** To be called when the response has gone out, where anything depends on it. */
  readonly after: Settlement<S>['after'] | undefined
}

/** Judges a request: at once when the store is in this process. */
export interface Guard<R, S = unknown> {
  (request: R): Verdict<S> | Promise<Verdict<S>>
  /** Puts other policies in force from the next request on. What has been counted stays counted, name by name. */
  replace(policies: readonly PolicyOptions<R, S>[]): void
}

const COMMON_OPTIONS = [
  'deadline',
  'onStoreError',
  'store',
  'headers',
  'jitter',
  'trustProxy',
  'skip',
  'maxWait',
  'ipv6Prefix',
  'claims',
  'refundIf',
  'onDenied',
  'onDecision',
]
const PASS = Object.freeze({ decision: undefined, headers: Object.freeze([]), refusal: undefined, after: undefined })

/** Builds the one pipeline from request to verdict that every adapter calls. */
export function httpGuard<R, S = unknown>(
  options: RateLimitOptions<R, S> & { readonly store: Store },
  reader: RequestReader<R>,
): Guard<R, S> {
  checkOptions('rateLimit', options, [...(options.policies ? ['policies'] : POLICY_OPTIONS), ...COMMON_OPTIONS])
  const source = { store: checkStore(options.store), deadline: micros(options.deadline ?? DEADLINE, 'deadline') }
  const onStoreError = checkStoreError(options.onStoreError ?? 'allow')
  const { skip, refundIf, onDenied } = options
  const tell = tellerOf(options)
  const patience = options.maxWait === undefined ? 0 : micros(options.maxWait, 'maxWait')
  const sources = sourcesOf(options, reader)
  const report = reporter(options.onDecision)
  const flat = Object.fromEntries(
    Object.entries(options).filter(([name]) => POLICY_OPTIONS.includes(name) && name !== 'onStoreError'),
  )
  let rules = rulesOf(options.policies ?? [flat as unknown as PolicyOptions<R, S>], sources)
  const seen = new WeakSet<object>()

  const verdict = (request: R, booking: Booking): Verdict<S> => {
    const { decision } = booking
    report({ decision, request, mode: 'enforce' })
    const { byHand, after } = settlementOf(source, booking, rules, refundIf)
    return {
      decision: { ...decision, settle: byHand },
      headers: tell(booking),
      refusal: decision.allowed ? undefined : refusalOf(decision, request, onDenied),
      after:
        decision.allowed && !decision.degraded && (refundIf || rules.some(({ settle }) => settle)) ? after : undefined,
    }
  }
  const enforce = (request: R, asks: readonly Ask[]): Verdict<S> | Promise<Verdict<S>> => {
    if (asks.length === 0) return PASS
    const without = async (error: unknown): Promise<Verdict<S>> => {
      if (!(error instanceof StoreError)) throw error
      const wishes = asks.map(
        ({ policy }) => rules.find(({ name }) => name === policy.name)?.onStoreError ?? onStoreError,
      )
      const decision = await decideWithout(source, error, asks, wishes)
      return verdict(request, { asks, taken: [], decision })
    }
    if (patience > 0 || asks.some(queues)) {
      const held = hold(source, asks, patience, reader, request)
      return held.then((booking) => (booking ? verdict(request, booking) : GONE), without)
    }
    const booking = put(source, 'consume', asks)
    return booking instanceof Promise
      ? booking.then((taken) => verdict(request, taken), without)
      : verdict(request, booking)
  }
  const shadow = (request: R, asks: readonly Ask[]): void => {
    for (const each of asks) {
      const decision = ask(source, 'consume', [each])
      const tell = (decision: Decision): void => report({ decision, request, mode: 'shadow' })
      if (decision instanceof Promise)
        decision.then(tell).catch((error: Error) => warnOnce(`a shadow policy: ${error.message}`))
      else tell(decision)
    }
  }
  const judge = (request: R): Verdict<S> | Promise<Verdict<S>> => {
    if (skip?.(request)) return PASS
    if (counted(seen, reader.identity(request))) return PASS
    const asks = asksOf(rules, request)
    const go = ([enforced, shadowed]: Asks): Verdict<S> | Promise<Verdict<S>> => {
      if (shadowed.length > 0) shadow(request, shadowed)
      return enforce(request, enforced)
    }
    return asks instanceof Promise ? asks.then(go) : go(asks)
  }
  return Object.assign(judge, {
    replace: (policies: readonly PolicyOptions<R, S>[]) => {
      rules = rulesOf(policies, sources)
    },
  })
}

// Nobody is there to read it: the client has gone away while its request was held back.
const GONE = Object.freeze({
  ...PASS,
  refusal: Object.freeze({ status: 499, contentType: 'text/plain', headers: [], body: '' }),
})

type Asks = readonly [enforced: readonly Ask[], shadowed: readonly Ask[]]

function asksOf<R, S>(rules: readonly Rule<R, S>[], request: R): Asks | Promise<Asks> {
  const asks: [Ask[], Ask[]] = [[], []]
  const pending: Promise<unknown>[] = []
  for (const { shadow, applies, policyFor, keyOf, costOf } of rules) {
    if (applies && !applies(request)) continue
    const key = keyOf(request)
    if (key === undefined) continue
    const found: { -readonly [K in keyof Ask]: Ask[K] } = { policy: policyFor(request), key: textKey(key), cost: 1 }
    const cost = costOf(request)
    if (typeof cost === 'number') found.cost = cost
    else {
      pending.push(
        cost.then((said) => {
          found.cost = said
        }),
      )
    }
    asks[shadow ? 1 : 0].push(found)
  }
  return pending.length === 0 ? asks : Promise.all(pending).then(() => asks)
}

/** A key may be empty here, unlike in a program's own calls: what a request lacks is all such requests' key. */
function textKey(key: unknown): string {
  if (typeof key === 'string') return key
  throw new QuotaError('ERR_SPILLWAY_KEY', `key must return a string or undefined; got ${shown(key)}. Write String(…).`)
}

function counted(seen: WeakSet<object>, request: object): boolean {
  if (!seen.has(request)) {
    seen.add(request)
    return false
  }
  warnOnce('a request came by the same rateLimit(…) twice; it was counted once. Mount it once on each way.')
  return true
}

function sourcesOf<R, S>(
  { claims, ipv6Prefix = 56, trustProxy }: RateLimitOptions<R, S>,
  reader: RequestReader<R>,
): Sources<R> {
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 128) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `ipv6Prefix must be 32 to 128 bits; got ${shown(ipv6Prefix)}.`)
  }
  const address = trustProxy === undefined ? frameworksAddress(reader) : clientAddress(trustProxy, reader)
  return { reader, claims, ipv6Prefix, address }
}

/** The client's address by the framework's own rules; a proxy that those do not know of is warned about. */
function frameworksAddress<R>(reader: RequestReader<R>): Sources<R>['address'] {
  let watched = 100
  return (request) => {
    const address = reader.address(request)
    if (watched > 0) {
      watched--
      if (address === undefined) {
        warnOnce(
          'requests arrive whose client address nobody tells: all of them count as one. Write trustProxy: 1 if a proxy of yours tells it in X-Forwarded-For, or say by key whom to count.',
        )
      }
      if (address === reader.peer(request) && reader.header(request, 'x-forwarded-for') !== undefined) {
        warnOnce(
          'requests arrive with X-Forwarded-For, which nobody has said to trust: all clients of that proxy count as one. If the proxy is yours, write trustProxy: 1 (how many there are); if not, never mind.',
        )
      }
    }
    return address
  }
}
