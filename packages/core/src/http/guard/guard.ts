import type { MaybePromise } from '../../common/maybe-promise.ts'
import { checkBoolean, checkFunctions } from '../../common/options.ts'
import { microsOrZero } from '../../common/time.ts'
import { checkLogger, type Logger, warnOnce } from '../../common/warn.ts'
import { reportPolicies } from '../../policies/on-policies.ts'
import { storeConfigOf } from '../../remote/store-config.ts'
import { storeOr } from '../../stores/default-store.ts'
import { type Registration, register } from '../../stores/registry.ts'
import type { Store } from '../../stores/store.ts'
import type { DeniedOption } from '../headers/denied.ts'
import { shownNamesOf } from '../headers/display-names.ts'
import { requestSourcesOf } from '../keys/request-sources.ts'
import { type CompiledPolicy, compilePolicies } from '../policies/compile-policy.ts'
import { matcher } from '../policies/match.ts'
import type { PolicyOptions } from '../policies/policy-options.ts'
import { RequestParts } from '../requests/parts.ts'
import type { RequestReader } from '../requests/reader.ts'
import { type RequestState, requestStatesFor } from '../requests/request-state.ts'
import { checkFlag } from '../requests/returned.ts'
import { statusTest } from '../requests/status-test.ts'
import { whileConnected } from '../requests/while-connected.ts'
import { type ByKey, byKey } from './by-key.ts'
import { CLIENT_CLOSED, evaluatorFor, PASS, type Verdict } from './evaluator.ts'
import { reporter } from './events.ts'
import { headerBuilder } from './header-builder.ts'
import { checkedOptions, policiesOf, type RateLimitOptions } from './options.ts'
import type { RequestDecision } from './settlement.ts'

/** Evaluates a request: synchronously if the store is in memory. */
export interface Guard<R, S = unknown, Name extends string = string, A = S> {
  (request: R): MaybePromise<Verdict<S>>
  /** The decision about a request; undefined if the guard has not counted it. */
  decisionOf(request: R): RequestDecision<Name> | undefined
  /** Reads and changes the counts of a key. */
  readonly byKey: ByKey<Name>
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
  const options = checkedOptions(named === undefined ? {} : named, reader.peerHint) as unknown as RateLimitOptions<R, S>
  checkFunctions(options, ['claims', 'onDenied', 'onDecision'])
  const storeConfig = storeConfigOf({
    ...options,
    store: defaultStore ? storeOr(options.store, defaultStore, checkLogger(options.logger)) : options.store,
  })
  const requestSources = requestSourcesOf(options, reader, storeConfig.logger)
  const skips = matcher('skip', options.skip, requestSources)
  const { maxWait = 0 } = options
  const config = {
    reader,
    maxWaitMicros: microsOrZero(maxWait, 'maxWait'),
    onDenied: options.onDenied as DeniedOption<R, never> | undefined,
    refundIf: statusTest('refundIf', options.refundIf, checkFlag('refundIf')),
    report: reporter(options.onDecision, storeConfig.logger),
    logger: storeConfig.logger,
    buildHeaders: headerBuilder(options),
    countsPreflight: checkBoolean('countPreflight', options.countPreflight),
  }
  /** Compiles policies, and registers their states instead of those of the policies before. */
  const activate = (policies: readonly PolicyOptions<R, S>[], before: readonly Registration[] = []) => {
    const compiled = compilePolicies(policies, requestSources, storeConfig)
    const registrations = compiled.flatMap(registrationsOf)
    register(registrations, before)
    reportPolicies(policies)
    const names = registrations.map(({ name }) => name)
    return { compiled, registrations, names, evaluate: evaluatorFor(compiled, config) }
  }
  let active = activate(policiesOf(options))

  const requestStates = requestStatesFor<RequestDecision>()
  const count = (parts: RequestParts<R>): MaybePromise<Verdict<S>> => {
    const state = requestStates.begin(reader.identity(parts.request))
    if (state === undefined) {
      warnOfSecondCall(storeConfig.logger)
      return PASS
    }
    state.shownNames = shownNamesOf(active.names, state.before)
    try {
      const verdict = active.evaluate(parts, state.shownNames)
      if (!(verdict instanceof Promise)) return keep(state, verdict)
      return verdict.then(
        (known) => keep(state, known),
        (error) => forget(state, error),
      )
    } catch (error) {
      return forget(state, error)
    }
  }
  const guard = (request: R): MaybePromise<Verdict<S>> => {
    const parts = new RequestParts(request)
    const skipped = skips?.(parts)
    if (!(skipped instanceof Promise)) return skipped ? PASS : count(parts)
    return whileConnected(reader, request, skipped).then((known) => {
      if (known === undefined) return CLIENT_CLOSED
      return known ? PASS : count(parts)
    })
  }
  return Object.assign(guard, {
    decisionOf: (request: R) => requestStates.read(reader.identity(request)) as RequestDecision<Name> | undefined,
    byKey: byKey(() => active.compiled) as ByKey<Name>,
    replace: (policies: readonly PolicyOptions<R, S, string, A>[]) => {
      active = activate(policies as unknown as readonly PolicyOptions<R, S>[], active.registrations)
    },
  })
}

/** Keeps the decision. If no policy applied, one may when the request passes again: behind a login, or rewritten. */
function keep<S>(state: RequestState<RequestDecision>, verdict: Verdict<S>): Verdict<S> {
  state.value = verdict.decision
  if (verdict === PASS) state.owner = undefined
  return verdict
}

/** A request that failed is counted when it passes again, from a handler of errors. */
function forget(state: RequestState<RequestDecision>, error: unknown): never {
  state.owner = undefined
  throw error
}

/** The states of a policy: those of its quota, and of its block list. */
const registrationsOf = <R, S>({ registration, blockList }: CompiledPolicy<R, S>): readonly Registration[] => {
  if (blockList === undefined) return [registration]
  const { name, quota } = blockList
  return [registration, { ...registration, name, isUnnamed: false, quota }]
}

const warnOfSecondCall = (logger: Logger): void =>
  warnOnce(
    logger,
    'WARN_SPILLWAY_CALLED_TWICE',
    'the same rateLimit(…) ran twice for one request, which was counted once. Mount it once per route.',
  )
