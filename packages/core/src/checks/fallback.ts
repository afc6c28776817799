import { StoreError } from '../common/errors.ts'
import type { MaybePromise } from '../common/maybe-promise.ts'
import { oncePer } from '../common/once-per.ts'
import type { Decision } from '../decisions/decision.ts'
import { ConsumeSteps } from '../policies/consume-steps.ts'
import type { ActualOf, Policy, PolicyCheck } from '../policies/policy.ts'
import { isBlockList } from '../quotas/block-list.ts'
import type { StepOptions, Verb } from '../steps/step-options.ts'
import type { CallDeadline } from '../stores/deadline.ts'
import type { FallbackLimiter, StoreErrorOption } from '../stores/failure-mode.ts'
import { localStoreOf } from '../stores/local-store.ts'
import {
  answerPrepared,
  answerTo,
  correctionsOf,
  correctLate,
  rollbackResult,
  type StoreAnswer,
  type StoreResult,
  settleResult,
  takesFor,
} from './store-result.ts'

/** The store's answer to a group of checks; if the store fails, the result of the policies' failure modes. */
export function answerOrFallBack(
  checks: readonly PolicyCheck[],
  verb: Verb,
  stepOptions?: StepOptions,
  deadline?: CallDeadline,
): MaybePromise<StoreResult> {
  const prepared = verb === 'consume' && stepOptions === undefined ? answerPrepared(checks) : undefined
  if (prepared !== undefined) return prepared
  const result = answerTo(checks, takesFor(checks, verb, stepOptions), deadline)
  if (!(result instanceof Promise)) return result
  return result.catch((error: unknown) => {
    if (error instanceof StoreError) return fallBack(error, checks, verb, stepOptions)
    throw error
  })
}

/** Decides without the store, by the strictest failure mode of the policies. */
export async function fallBack(
  error: StoreError,
  checks: readonly PolicyCheck[],
  verb: Verb,
  stepOptions?: StepOptions,
): Promise<StoreResult> {
  const modes = checks.map(({ policy }) => policy.storeConfig.onStoreError)
  const takes = verb === 'consume' || verb === 'charge'
  const refundLate = (): void => {
    if (takes) correctLate(error, checks)
  }
  if (modes.includes('throw')) {
    refundLate()
    throw error
  }
  const isDenied = modes.includes('deny')
  const local = isDenied ? undefined : countLocally(checks, modes, verb, stepOptions)
  const answers = isDenied ? [] : await askLimiters(checks, modes, verb)
  const asked = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const decisionsBy = (counted: readonly Decision[]): readonly Decision[] =>
    checks.map((check, i) => {
      const place = local?.checks.indexOf(check) ?? -1
      const answer = place < 0 ? asked.find((each) => each.check === check)?.answer : counted[place]
      return decisionFor(check, error, modes[i] as StoreErrorOption, answer, isDenied)
    })
  const part = { checks, decisions: decisionsBy(local?.answered.decisions ?? []) }
  const settleLimiters = (actualOf: ActualOf): Promise<unknown> =>
    Promise.allSettled(asked.map((each) => correctAnswer(each, actualOf(each.check))))
  const rollback = async (): Promise<readonly Decision[]> => {
    if (!takes) return part.decisions
    await settleLimiters(() => 0)
    if (!local?.answered.decisions.every(({ allowed }) => allowed)) return part.decisions
    const undone = await rollbackResult(local.answered)
    return decisionsBy(undone?.decisions ?? [])
  }
  const failed = answers.find((each) => each.status === 'rejected')
  if (failed !== undefined) {
    refundLate()
    await rollback()
    throw failed.reason
  }
  // Units that the store takes late are kept only for an allowed request that was counted nowhere else.
  const isDeniedAtLast = part.decisions.some(({ allowed }) => !allowed)
  const keepsLate = !isDeniedAtLast && local === undefined && asked.length === 0
  if (!keepsLate) refundLate()
  if (isDeniedAtLast) await rollback()
  return {
    ...part,
    rollback: async () => {
      if (keepsLate) refundLate()
      return { ...part, decisions: await rollback() }
    },
    settle: async (actualOf) => {
      if (keepsLate) {
        correctLate(error, checks, (answer) => [
          ...correctionsOf(answer, actualOf, 'refund').takes,
          ...correctionsOf(answer, actualOf, 'charge').takes,
        ])
      }
      await settleLimiters(actualOf)
      if (!local) return
      const original = new Map(local.answered.checks.map((check, i) => [check, local.checks[i] as PolicyCheck]))
      await settleResult(local.answered, (check) => actualOf(original.get(check) as PolicyCheck))
    },
  }
}

interface CountedLocally {
  readonly checks: readonly PolicyCheck[]
  /** The answer of the local store to the same checks. */
  readonly answered: StoreAnswer
}

/** Counts the checks with the failure mode `'local'` in this process, all-or-nothing. */
function countLocally(
  all: readonly PolicyCheck[],
  modes: readonly StoreErrorOption[],
  verb: Verb,
  stepOptions: StepOptions | undefined,
): CountedLocally | undefined {
  const checks = all.filter((_, i) => modes[i] === 'local')
  if (checks.length === 0) return undefined
  const localChecks = checks.map((check) => ({ ...check, policy: localOf(check.policy) }))
  // The local store answers in the same tick.
  return { checks, answered: answerTo(localChecks, takesFor(localChecks, verb, stepOptions)) as StoreAnswer }
}

/** The policy with this process's share of the quota, in the local store. */
export const localOf: (policy: Policy) => Policy = oncePer('local policies', (policy: Policy): Policy => {
  const { localQuota: share, storeConfig } = policy
  const store = localStoreOf(storeConfig.store)
  return {
    ...policy,
    quota: share,
    storeConfig: { ...storeConfig, store },
    steps: new ConsumeSteps(policy.name, share, store),
  }
})

interface LimiterAnswer {
  readonly check: PolicyCheck
  readonly limiter: FallbackLimiter
  readonly answer: Decision
}

function askLimiters(
  checks: readonly PolicyCheck[],
  modes: readonly StoreErrorOption[],
  verb: Verb,
): Promise<readonly PromiseSettledResult<LimiterAnswer>[]> {
  const limiters = checks.flatMap((check, i) => {
    const limiter = modes[i]
    return typeof limiter === 'object' && !isBlockList(check.policy.quota) ? [{ check, limiter }] : []
  })
  return Promise.allSettled(
    limiters.map(async ({ check, limiter }) => ({
      check,
      limiter,
      answer: await limiter[verb](keyOf(check), check.cost),
    })),
  )
}

/** Corrects what a limiter that was asked instead has consumed to the actual cost. */
async function correctAnswer({ check, limiter, answer }: LimiterAnswer, actual: number): Promise<void> {
  if (!answer.allowed || actual === check.cost) return
  if (actual < check.cost) await limiter.refund(keyOf(check), check.cost - actual)
  else await limiter.charge(keyOf(check), actual - check.cost)
}

// Requests without a key share the empty key, which limiters reject.
const keyOf = ({ key }: PolicyCheck): string => key || 'none'

function decisionFor(
  { policy: { name, quota }, cost }: PolicyCheck,
  { reason }: StoreError,
  mode: StoreErrorOption,
  answer: Decision | undefined,
  isDenied: boolean,
): Decision {
  if (answer !== undefined) {
    const action = mode === 'local' ? 'local' : 'fallback'
    return { ...answer, policy: name, violated: answer.allowed ? [] : [name], degraded: { reason, action } }
  }
  const isList = isBlockList(quota)
  const denies = isDenied && !isList
  return {
    allowed: !denies,
    policy: name,
    limit: isList ? 0 : quota.limit,
    remaining: 0,
    cost,
    retryAfterMs: 0,
    resetAfterMs: 0,
    replenishAfterMs: 0,
    delayMs: 0,
    violated: denies ? [name] : [],
    degraded: { reason, action: isDenied ? 'deny' : 'allow' },
  }
}
