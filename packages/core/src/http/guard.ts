import { ask, type Booking, put } from '../booking.ts'
import type { Decision } from '../decision.ts'
import { checkStore } from '../limiter.ts'
import { checkFunctions, checkOptions } from '../options.ts'
import type { StandIn } from '../part.ts'
import { type Ask, queues } from '../policy.ts'
import { andThen, type Soon } from '../soon.ts'
import type { Store } from '../store.ts'
import { DEADLINE, micros } from '../time.ts'
import { warnOnce } from '../warn.ts'
import { type Asks, asksOf } from './asks.ts'
import { checkStoreError, decideWithout, type StoreErrorOption } from './degraded.ts'
import { reporter } from './events.ts'
import type { Header } from './headers.ts'
import { hold } from './hold.ts'
import { matcher } from './match.ts'
import { notesOnRequests } from './notes.ts'
import { COMMON_OPTIONS, type RateLimitOptions } from './options.ts'
import { type Refusal, refusalOf } from './problem.ts'
import type { RequestReader } from './reader.ts'
import { POLICY_OPTIONS, type PolicyOptions, type Rule, rulesOf } from './rule.ts'
import { type RequestDecision, type Settlement, settlementOf } from './settlement.ts'
import { sourcesOf } from './sources.ts'
import { tellerOf } from './teller.ts'

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
export interface Guard<R, S = unknown, Name extends string = string> {
  (request: R): Soon<Verdict<S>>
  /** What it has decided about a request; undefined where it has not counted it. */
  decisionOf(request: R): RequestDecision<Name> | undefined
  /** Puts other policies in force from the next request on. What has been counted stays counted, name by name. */
  replace(policies: readonly PolicyOptions<R, S>[]): void
}

const PASS = Object.freeze({ decision: undefined, headers: Object.freeze([]), refusal: undefined, after: undefined })

/** Builds the one pipeline from request to verdict that every adapter calls. */
export function httpGuard<R, S = unknown, Name extends string = string>(
  named: RateLimitOptions<R, S, Name> & { readonly store: Store },
  reader: RequestReader<R>,
): Guard<R, S, Name> {
  // Names are the caller's compiler's business: here they are text.
  const options = named as unknown as RateLimitOptions<R, S> & { readonly store: Store }
  checkOptions('rateLimit', options, [...(options.policies ? ['policies'] : POLICY_OPTIONS), ...COMMON_OPTIONS])
  checkFunctions(options, ['refundIf', 'claims', 'onDenied', 'onDecision'])
  const source = { store: checkStore(options.store), deadline: micros(options.deadline ?? DEADLINE, 'deadline') }
  const onStoreError = checkStoreError(options.onStoreError ?? 'allow')
  const { refundIf, onDenied } = options
  const tell = tellerOf(options)
  const patience = options.maxWait === undefined ? 0 : micros(options.maxWait, 'maxWait')
  const sources = sourcesOf(options, reader)
  const skips = matcher('skip', options.skip, sources)
  const report = reporter(options.onDecision)
  const flat = Object.fromEntries(
    Object.entries(options).filter(([name]) => POLICY_OPTIONS.includes(name) && !COMMON_OPTIONS.includes(name)),
  )
  let rules = rulesOf(options.policies ?? [flat as unknown as PolicyOptions<R, S>], sources, source)
  const ruleNamed = (name: string): Rule<R, S> | undefined => rules.find((rule) => rule.name === name)
  const notes = notesOnRequests<RequestDecision>()

  const corrected = ({ parts }: Booking): boolean =>
    (refundIf !== undefined || rules.some(({ settle }) => settle)) && parts.some(({ taken }) => taken)
  const verdict = (request: R, booking: Booking): Verdict<S> => {
    const { decision } = booking
    report({ decision, request, mode: 'enforce' })
    const { byHand, after } = settlementOf(booking, rules, refundIf)
    const told = { ...decision, settle: byHand }
    notes.write(reader.identity(request), told)
    return {
      decision: told,
      headers: tell(booking),
      refusal: decision.allowed ? undefined : refusalFor(request, decision),
      after: decision.allowed && corrected(booking) ? after : undefined,
    }
  }
  const refusalFor = (request: R, decision: Decision): Refusal => {
    const rule = ruleNamed(decision.policy)
    return refusalOf(decision, request, rule?.problem, rule?.onDenied ?? onDenied)
  }
  const wishOf = ({ policy }: Ask): StoreErrorOption => ruleNamed(policy.name)?.onStoreError ?? onStoreError
  const standIn: StandIn = (error, asks) => decideWithout(error, asks, asks.map(wishOf))
  const enforce = (request: R, asks: readonly Ask[]): Soon<Verdict<S>> => {
    if (asks.length === 0) return PASS
    if (patience > 0 || asks.some(queues)) {
      const held = hold(asks, patience, standIn, reader, request)
      return held.then((booking) => (booking ? verdict(request, booking) : GONE))
    }
    return andThen(put('consume', asks, undefined, standIn), (booking) => verdict(request, booking))
  }
  const shadow = (request: R, asks: readonly Ask[]): void => {
    for (const each of asks) {
      const decision = ask('consume', [each])
      const tell = (decision: Decision): void => report({ decision, request, mode: 'shadow' })
      if (decision instanceof Promise)
        decision.then(tell).catch((error: Error) => warnOnce(`a shadow policy: ${error.message}`))
      else tell(decision)
    }
  }
  const judge = (request: R): Soon<Verdict<S>> => {
    if (skips?.(request)) return PASS
    if (!notes.begin(reader.identity(request))) return twice()
    const asks = asksOf(rules, request)
    const go = ([enforced, shadowed]: Asks): Soon<Verdict<S>> => {
      if (shadowed.length > 0) shadow(request, shadowed)
      return enforce(request, enforced)
    }
    return andThen(asks, go)
  }
  return Object.assign(judge, {
    decisionOf: (request: R) => notes.read(reader.identity(request)) as RequestDecision<Name> | undefined,
    replace: (policies: readonly PolicyOptions<R, S>[]) => {
      rules = rulesOf(policies, sources, source)
    },
  })
}

// Nobody is there to read it: the client has gone away while its request was held back.
const GONE = Object.freeze({
  ...PASS,
  refusal: Object.freeze({ status: 499, contentType: 'text/plain', headers: [], body: '' }),
})

function twice(): typeof PASS {
  warnOnce('a request came by the same rateLimit(…) twice; it was counted once. Mount it once on each way.')
  return PASS
}
