import { checked, type MaybePromise } from '../maybe-promise.ts'
import { checkBoolean, checkFunctions } from '../options.ts'
import { type Registration, register } from '../registry.ts'
import { sourceOf } from '../source.ts'
import type { Store } from '../store.ts'
import { micros } from '../time.ts'
import { type Logger, warnOnce } from '../warn.ts'
import type { DeniedOption } from './denied.ts'
import { reporter } from './events.ts'
import { GONE, judgeBy, PASS, type Verdict } from './judge.ts'
import { matcher } from './match.ts'
import { notesOnRequests } from './notes.ts'
import { checkRateLimitOptions, ownOptions, type RateLimitOptions } from './options.ts'
import { isPreflight } from './preflight.ts'
import type { RequestReader } from './reader.ts'
import { checkFlag } from './returned.ts'
import { type PolicyOptions, rulesOf } from './rule.ts'
import type { RequestDecision } from './settlement.ts'
import { shownNamesOf } from './shown-names.ts'
import { type ClaimsOf, claimsOnce, sourcesOf } from './sources.ts'
import { tellerOf } from './teller.ts'
import { whileConnected } from './while-connected.ts'

/** Evaluates a request: synchronously if the store is in memory. */
export interface Guard<R, S = unknown, Name extends string = string, A = S> {
  (request: R): MaybePromise<Verdict<S>>
  /** The decision about a request; undefined if the guard has not counted it. */
  decisionOf(request: R): RequestDecision<Name> | undefined
  /** Replaces the policies, from the next request on. A policy that keeps its name keeps its counts. */
  replace(policies: readonly PolicyOptions<R, S, string, A>[]): void
}

/**
 * Builds the pipeline from request to verdict that all adapters use. `defaultStore` makes the store if the options have
 * none.
 */
export function httpGuard<R, S = unknown, Name extends string = string, A = S>(
  named: RateLimitOptions<R, S, Name, A>,
  reader: RequestReader<R>,
  defaultStore?: () => Store,
): Guard<R, S, Name, A> {
  // Names are checked at compile time: here they are strings. Called without options, it reports that the quota is
  // missing.
  const options = (named === undefined ? {} : named) as unknown as RateLimitOptions<R, S>
  checkRateLimitOptions(options)
  checkFunctions(options, ['refundIf', 'claims', 'onDenied', 'onDecision'])
  const source = sourceOf({ ...options, store: options.store === undefined ? defaultStore?.() : options.store })
  const sources = sourcesOf(options, reader, source.logger)
  const skips = matcher('skip', options.skip, sources)
  const countsPreflight = checkBoolean('countPreflight', options.countPreflight)
  const procedure = {
    reader,
    patience: options.maxWait === undefined ? 0 : micros(options.maxWait, 'maxWait'),
    onDenied: options.onDenied as DeniedOption<R, never> | undefined,
    refundIf: options.refundIf && checked(options.refundIf, checkFlag('refundIf')),
    report: reporter(options.onDecision, source.logger),
    logger: source.logger,
    tell: tellerOf(options),
  }
  let registered: readonly Registration[] = []
  let names: readonly string[] = []
  const judging = (policies: readonly PolicyOptions<R, S>[]) => {
    const rules = rulesOf(policies, sources, source)
    const registrations = rules.map(({ registration }) => registration)
    register(registrations, registered)
    registered = registrations
    names = rules.map(({ name }) => name)
    return judgeBy(rules, procedure)
  }
  const own = ownOptions()
  const flat = Object.fromEntries(Object.entries(options).filter(([name]) => own.includes(name)))
  const policies = options.policies ?? [flat as unknown as PolicyOptions<R, S>]
  let judge = judging(policies)

  const notes = notesOnRequests<RequestDecision>()
  const count = (request: R, claims: ClaimsOf): MaybePromise<Verdict<S>> => {
    const note = notes.begin(reader.identity(request))
    if (note === undefined) return twice(source.logger)
    note.shownNames = shownNamesOf(names, note.before)
    const verdict = judge(request, claims, note.shownNames)
    if (verdict instanceof Promise) {
      return verdict.then((known) => {
        note.text = known.decision
        return known
      })
    }
    note.text = verdict.decision
    return verdict
  }
  const guard = (request: R): MaybePromise<Verdict<S>> => {
    if (!countsPreflight && isPreflight(reader, request)) return PASS
    const claims = claimsOnce(sources, request)
    const skipped = skips?.(request, claims)
    if (!(skipped instanceof Promise)) return skipped ? PASS : count(request, claims)
    return whileConnected(reader, request, skipped).then((known) => {
      if (known === undefined) return GONE
      return known ? PASS : count(request, claims)
    })
  }
  return Object.assign(guard, {
    decisionOf: (request: R) => notes.read(reader.identity(request)) as RequestDecision<Name> | undefined,
    replace: (policies: readonly PolicyOptions<R, S, string, A>[]) => {
      judge = judging(policies as unknown as readonly PolicyOptions<R, S>[])
    },
  })
}

function twice(logger: Logger): Verdict {
  warnOnce(
    logger,
    'WARN_SPILLWAY_CALLED_TWICE',
    'the same rateLimit(…) ran twice for one request, which was counted once. Mount it once per route.',
  )
  return PASS
}
