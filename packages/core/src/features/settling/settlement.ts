import type { Decision } from '../../algorithms/decision.ts'
import { NONE } from '../../algorithms/decision-of.ts'
import { inThisContext } from '../../common/async-context.ts'
import { formatThrown, formatValue, invalidOption } from '../../common/errors.ts'
import { andThen, type MaybePromise, promised } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { checksOf } from '../../http/pipeline/check.ts'
import type { HttpCheck } from '../../http/pipeline/compiled.ts'
import type { RequestDecision } from '../../http/pipeline/verdict.ts'
import { UPGRADED } from '../../http/requests/upgrade.ts'
import { rollback, settle as settleAcquisition } from '../../policies/correct.ts'
import { checkActual } from '../../policies/costs.ts'
import type { Acquisition, PolicyCheck } from '../../policies/policy.ts'
import { shadowName } from '../../policies/state-names.ts'
import { untilEnded } from './open-corrections.ts'
import type { Refunds } from './preflight.ts'
import type { Settlement, SettlingPolicy } from './settle-options.ts'

/** A decision as handlers read it. */
export function requestDecisionOf(decision: Decision, settle: RequestDecision['settle']): RequestDecision {
  if (decision.degraded || decision.policies || decision.spilled) return { ...decision, settle }
  // Written out: spreading a decision costs more than making one.
  const { allowed, policy, limit, remaining, cost, violated } = decision
  const { retryAfterMs, resetAfterMs, replenishAfterMs, delayMs } = decision
  return {
    allowed,
    policy,
    limit,
    remaining,
    cost,
    retryAfterMs,
    resetAfterMs,
    replenishAfterMs,
    delayMs,
    violated,
    settle,
  }
}

const settlingOf = <S>({ compiled }: HttpCheck<unknown, S>): SettlingPolicy<unknown, S> => compiled

/** Settles what was acquired of the enforced policies, if any, and of the shadow policies. */
export function settlementOf<S>(
  enforced: Acquisition | undefined,
  shadows: readonly MaybePromise<Acquisition | undefined>[],
  refundIf: Refunds | undefined,
  logger: Logger,
): Settlement<S> {
  const corrected: PolicyCheck[] = []
  // Each acquisition as soon as it is known: a function of a shadow policy may never answer.
  const forEach = (each: (acquisition: Acquisition) => Promise<void>): Promise<void> =>
    Promise.all(
      [enforced, ...shadows].map((pending) => andThen(pending, (acquisition) => acquisition && each(acquisition))),
    ).then(() => {})
  const correct = async (acquisition: Acquisition, actual: ReadonlyMap<PolicyCheck, number>): Promise<void> => {
    const due = new Map([...actual].filter(([check]) => !corrected.includes(check)))
    corrected.push(...due.keys())
    await settleAcquisition(acquisition, (check) => due.get(check) ?? check.cost)
  }
  const settle: Settlement<S>['settle'] = async (actual, policy) => {
    checkActual(actual)
    const isEnforced = policy === undefined || enforced?.checks.some((check) => paysFor(check, policy)) === true
    const known = [enforced, ...(isEnforced ? NONE : await Promise.all(shadows))].filter((each) => each !== undefined)
    const [acquisition, check] = toCorrect(policy, enforced, known)
    await correct(acquisition, new Map([[check, actual]]))
  }
  /** Corrects the checks that nothing has corrected yet, to what they cost: undefined if that is not known yet. */
  const correctOpen = async (
    acquisition: Acquisition,
    costOf: (check: HttpCheck<unknown, S>) => Promise<number | undefined>,
  ): Promise<void> => {
    const actual = new Map<PolicyCheck, number>()
    for (const check of checksOf<unknown, S>(acquisition)) {
      if (check.policy.isHeld) continue
      const cost = corrected.includes(check) ? undefined : await costOf(check)
      if (cost !== undefined) actual.set(check, cost)
    }
    await correct(acquisition, actual)
  }
  const after: Settlement<S>['after'] = async (status, response, ended) => {
    const refunded = promised(async () => status !== undefined && (await refundIf?.(status, response)))
    const isFree = async (check: HttpCheck<unknown, S>): Promise<boolean> =>
      (await refunded) || !(await counts(check, status, logger))
    const settleCost = (check: HttpCheck<unknown, S>): Promise<number> => actualCost(check, response, logger)
    const track = (correction: Promise<void>): Promise<void> => untilEnded(correction, logger)
    const settleUpgrade = async (acquisition: Acquisition): Promise<void> => {
      await track(correctOpen(acquisition, async (check) => ((await isFree(check)) ? 0 : undefined)))
      if (ended === undefined) return
      // Not tracked: a connection may stay open for days.
      await ended
      await track(correctOpen(acquisition, settleCost))
    }
    const settleResponse = (acquisition: Acquisition): Promise<void> =>
      correctOpen(acquisition, async (check) => ((await isFree(check)) ? 0 : settleCost(check)))
    const work = status === UPGRADED ? forEach(settleUpgrade) : track(forEach(settleResponse))
    await work.catch((error) => warnOfFailure(logger, error))
  }
  const refundAll = async (): Promise<void> => {
    await forEach(async (acquisition) => {
      corrected.push(...acquisition.checks)
      await rollback(acquisition)
    })
  }
  return {
    settle: (actual, policy) => untilEnded(settle(actual, policy), logger),
    after: inThisContext(after),
    discard: () => void untilEnded(refundAll(), logger).catch((error) => warnOfFailure(logger, error)),
  }
}

/** Whether a policy counts a response: also if there is none, or `countIf` throws. */
async function counts<S>(check: HttpCheck<unknown, S>, status: number | undefined, logger: Logger): Promise<boolean> {
  const { countIf } = settlingOf(check)
  if (status === undefined || countIf === undefined) return true
  try {
    return await countIf(status)
  } catch (error) {
    warnOfFailure(logger, error)
    return true
  }
}

/** The actual cost that a policy reads from a response; the consumed units if `settle` throws. */
async function actualCost<S>(check: HttpCheck<unknown, S>, response: S, logger: Logger): Promise<number> {
  const { settle } = settlingOf(check)
  const { cost } = check
  if (settle === undefined) return cost
  try {
    return await settle(response)
  } catch (error) {
    warnOfFailure(logger, error)
    return cost
  }
}

/** The response has been sent, so a failure can only be logged. */
function warnOfFailure(logger: Logger, error: unknown): void {
  warnOnce(logger, 'WARN_SPILLWAY_SETTLE', 'the cost of a request could not be corrected: ', formatThrown(error))
}

/** Whether this is the policy named, or consumed in its place. */
const paysFor = ({ policy: { name }, emptied = [] }: PolicyCheck, named: string): boolean =>
  name === named || name === shadowName(named) || emptied.some(({ check }) => check.policy.name === named)

/** The check to correct, with its acquisition. */
function toCorrect(
  policy: string | undefined,
  enforced: Acquisition | undefined,
  acquisitions: readonly Acquisition[],
): readonly [Acquisition, PolicyCheck] {
  const all = acquisitions.flatMap((acquisition) =>
    checksOf(acquisition).flatMap((check) => (check.policy.isHeld ? [] : [[acquisition, check] as const])),
  )
  const ofEnforced = all.filter(([acquisition]) => acquisition === enforced)
  const found = policy === undefined ? ofEnforced : all.filter(([, check]) => paysFor(check, policy))
  const [named, ...others] = found
  if (named !== undefined && (policy !== undefined || others.length === 0)) return named
  const names = all.map(([, { policy }]) => formatValue(policy.name)).join(', ')
  throw invalidOption(`settle(actual, policy) must name one of ${names || 'the policies with units'}`, policy)
}
