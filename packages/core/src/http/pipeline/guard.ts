import type { Decision } from '../../algorithms/decision.ts'
import { waitUnlessClosed } from '../../common/client-closed.ts'
import type { MaybePromise } from '../../common/maybe-promise.ts'
import { checkNames } from '../../common/options.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { reportPolicies } from '../../policies/on-policies.ts'
import type { Registration } from '../../stores/registry.ts'
import type { Store } from '../../stores/store.ts'
import { shownNamesOf } from '../headers/display-names.ts'
import { RequestParts } from '../requests/parts.ts'
import type { RequestReader } from '../requests/reader.ts'
import { type RequestState, requestStatesFor } from '../requests/request-state.ts'
import type { CompiledPolicy, HttpCheck } from './compiled.ts'
import { type Pipeline, seamsOf } from './install.ts'
import type { Setup } from './seams.ts'
import { CLIENT_CLOSED, type DecisionReader, PASS, type RequestDecision, type Verdict } from './verdict.ts'

/** Counts a request: from its checks to the verdict, in the same tick if nothing has to be awaited. */
type Evaluate<R, S> = (parts: RequestParts<R>) => MaybePromise<Verdict<S>>

/** Evaluates a request: synchronously if the store is in memory. */
export interface PlainGuard<R, S> extends DecisionReader<R> {
  /** `response` is what `isOver` of the reader reads. If it is over by then, the units are refunded: `CLIENT_CLOSED`. */
  (request: R, response?: unknown): MaybePromise<Verdict<S>>
  /** Where its warnings are logged. */
  readonly logger: Logger
  /** Reads and changes the counts of a key, with the feature for that. */
  readonly byKey: object
  /** Replaces the policies, from the next request on. A policy that keeps its name keeps its counts. */
  replace(policies: readonly object[]): void
}

/** The policies in force. */
interface Active<R, S> {
  readonly policies: readonly CompiledPolicy<R, S>[]
  readonly registrations: readonly Registration[]
  readonly stateNames: readonly string[]
  readonly evaluate: Evaluate<R, S>
}

/**
 * Builds the way from request to verdict that all adapters use, with the features of a pipeline. `defaultStore` makes the store
 * if the options have none.
 */
export function guardOf<R, S>(
  pipeline: Pipeline,
  given: unknown,
  reader: RequestReader<R>,
  defaultStore?: () => Store,
): PlainGuard<R, S> {
  const { names } = pipeline
  const seams = seamsOf<R, S>(pipeline)
  // Called without options, it reports that the quota is missing.
  const options = seams.options(given === undefined ? {} : given, names, (option, known, all) =>
    seams.hint(option, known, all, reader.peerHint),
  )
  const storeConfig = seams.store(options, defaultStore)
  const { logger } = storeConfig
  const setup: Setup<R, S> = { ...seams.sources(options, reader, logger), options, names, storeConfig, seams }
  const skips = seams.skips(setup)
  let active = activate(seams.policies(options, names), setup)

  const requestStates = requestStatesFor<Decision>()
  /** Keeps the decision. If no policy applied, one may when the request passes again: behind a login, or rewritten. */
  const end = (parts: RequestParts<R>, verdict: Verdict<S>, waited = false): Verdict<S> => {
    parts.value = verdict.decision
    if (verdict === PASS) parts.owner = undefined
    if (!reader.isOver?.(parts.response as never, waited)) return verdict
    verdict.discard()
    return CLIENT_CLOSED
  }
  const count = (parts: RequestParts<R>, skipped: boolean | undefined): MaybePromise<Verdict<S>> => {
    const { request } = parts
    if (skipped) return end(parts, PASS)
    if (!requestStates.begin(parts, reader.identity ? reader.identity(request) : (request as object))) {
      warnOfSecondCall(logger)
      return end(parts, PASS)
    }
    if (parts.before !== undefined) parts.shownNames = shownNamesOf(active.stateNames, parts.before)
    try {
      const verdict = active.evaluate(parts)
      if (!(verdict instanceof Promise)) return end(parts, verdict)
      return verdict.then(
        (known) => end(parts, known, true),
        (error) => forget(parts, error),
      )
    } catch (error) {
      return forget(parts, error)
    }
  }
  const guard = (request: R, response?: unknown): MaybePromise<Verdict<S>> => {
    // What cannot be refunded must not be counted.
    if (!pipeline.refunds && reader.isOver?.(response as never, false)) return CLIENT_CLOSED
    const parts = new RequestParts(request, response)
    const skipped = skips?.(parts)
    if (!(skipped instanceof Promise)) return count(parts, skipped)
    return whileConnected(reader, request, skipped).then((known) =>
      known === undefined ? CLIENT_CLOSED : count(parts, known),
    )
  }
  return Object.assign(guard, {
    logger,
    decisionOf: (request: R) =>
      requestStates.read(reader.identity?.(request) ?? (request as object)) as RequestDecision | undefined,
    byKey: seams.calls(() => active.policies),
    replace: (policies: readonly object[]) => {
      active = activate(policies, setup, active.registrations)
    },
  })
}

/** Adds what a guard does besides to the middleware that passes requests to it. */
export const withGuard = <L extends object, R, S>(
  limit: L,
  { byKey, replace, decisionOf }: PlainGuard<R, S>,
): L & Pick<PlainGuard<R, S>, 'replace' | 'decisionOf'> => Object.assign(limit, byKey, { replace, decisionOf })

/** Compiles policies, and registers their states instead of those of the policies before. */
function activate<R, S>(
  given: readonly object[],
  setup: Setup<R, S>,
  before: readonly Registration[] = [],
): Active<R, S> {
  const { seams, names: known, storeConfig } = setup
  const policies = seams.several(given, (options) => {
    checkNames('a policy', options, known.policy, (option) => seams.hint(option, known.policy))
    return seams.policy(options, { setup, storeConfig })
  })
  const registrations = policies.flatMap((each) => each.registrations)
  seams.register(registrations, before)
  reportPolicies(given)
  const stateNames = registrations.map(({ name }) => name)
  return { policies, registrations, stateNames, evaluate: evaluatorFor(policies, setup) }
}

/** Builds what counts requests by these policies. A request in progress keeps its policies when they are replaced. */
function evaluatorFor<R, S>(policies: readonly CompiledPolicy<R, S>[], setup: Setup<R, S>): Evaluate<R, S> {
  const { seams, reader } = setup
  const readChecks = seams.checks(policies)
  const enforce = seams.enforce(policies, setup)
  const judge = seams.verdict(policies, setup)
  const evaluate = (
    parts: RequestParts<R>,
    checks: MaybePromise<readonly HttpCheck<R, S>[]> = readChecks(parts),
  ): MaybePromise<Verdict<S>> => {
    if (checks instanceof Promise) {
      return whileConnected(reader, parts.request, checks).then((known) =>
        known ? evaluate(parts, known) : CLIENT_CLOSED,
      )
    }
    const acquisition = enforce(parts, checks)
    return acquisition instanceof Promise ? acquisition.then((known) => judge(parts, known)) : judge(parts, acquisition)
  }
  return evaluate
}

/** Waits for a promise while the client is connected; undefined if it disconnects first. */
function whileConnected<R, T>(reader: RequestReader<R>, request: R, promise: Promise<T>): Promise<T | undefined> {
  return waitUnlessClosed(promise, (leave) => reader.onClientClosed(request, leave))
}

/** A request that failed is counted when it passes again, from a handler of errors. */
function forget(state: RequestState<Decision>, error: unknown): never {
  state.owner = undefined
  throw error
}

const warnOfSecondCall = (logger: Logger): void =>
  warnOnce(
    logger,
    'WARN_SPILLWAY_CALLED_TWICE',
    'the same rateLimit(…) ran twice for one request, which was counted once. Mount it once per route.',
  )
