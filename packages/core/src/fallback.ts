import type { CallDeadline } from './deadline.ts'
import type { Decision } from './decision.ts'
import { StoreError } from './errors.ts'
import type { FallbackLimiter, StoreErrorOption } from './failure-mode.ts'
import { localStoreOf } from './local-store.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { oncePer } from './once-per.ts'
import type { Policy, PolicyCheck } from './policy.ts'
import {
  answerTo,
  rollbackLate,
  rollbackResult,
  type StoreAnswer,
  type StoreResult,
  settleResult,
  takesFor,
} from './store-result.ts'
import { type StepOptions, stepFor, type Verb } from './verbs.ts'

/** What the store of a part answers; without its answer, what its policies' `onStoreError` says. */
export function answerOrFallBack(
  checks: readonly PolicyCheck[],
  verb: Verb,
  stepOptions?: StepOptions,
  deadline?: CallDeadline,
): MaybePromise<StoreResult> {
  const part = answerTo(checks, takesFor(checks, verb, stepOptions), deadline)
  if (!(part instanceof Promise)) return part
  return part.catch((error: unknown) => {
    if (error instanceof StoreError) return fallBack(error, checks, verb, stepOptions)
    throw error
  })
}

/** Decides without the store, by the strictest of what the policies say. */
export async function fallBack(
  error: StoreError,
  checks: readonly PolicyCheck[],
  verb: Verb,
  stepOptions?: StepOptions,
): Promise<StoreResult> {
  const modes = checks.map(({ policy }) => policy.storeConfig.onStoreError)
  const takes = verb === 'consume' || verb === 'charge'
  const undoLate = (): void => {
    if (takes) rollbackLate(error, checks)
  }
  if (modes.includes('throw')) {
    undoLate()
    throw error
  }
  const isDenied = modes.includes('deny')
  const local = isDenied ? undefined : countLocally(checks, modes, verb, stepOptions)
  const asked = isDenied ? [] : await askLimiters(checks, modes, verb)
  const decisionsBy = (counted: readonly Decision[]): readonly Decision[] =>
    checks.map((check, i) => {
      const place = local?.checks.indexOf(check) ?? -1
      const answer = place < 0 ? asked.find((each) => each.check === check)?.answer : counted[place]
      return decisionFor(check, error, modes[i] as StoreErrorOption, answer, isDenied)
    })
  const part = { checks, decisions: decisionsBy(local?.answered.decisions ?? []) }
  const refundLimiters = async (): Promise<void> => {
    const paid = takes ? asked.filter(({ answer }) => answer.allowed) : []
    await Promise.allSettled(paid.map(({ check, limiter }) => limiter.refund(keyOf(check), check.cost)))
  }
  const rollback = async (): Promise<readonly Decision[]> => {
    await refundLimiters()
    if (!local?.answered.decisions.every(({ allowed }) => allowed)) return part.decisions
    const undone = await rollbackResult(local.answered)
    return decisionsBy(undone?.decisions ?? [])
  }
  // What the store takes after all stays only for a request that is allowed and that nothing else has counted.
  const isDeniedAtLast = part.decisions.some(({ allowed }) => !allowed)
  const stays = !isDeniedAtLast && local === undefined && asked.length === 0
  if (!stays) undoLate()
  if (isDeniedAtLast) await rollback()
  return {
    ...part,
    rollback: async () => {
      if (stays) undoLate()
      return { ...part, decisions: await rollback() }
    },
    settle: async (actualOf) => {
      if (!local) return
      const askOf = new Map(local.answered.checks.map((put, i) => [put, local.checks[i] as PolicyCheck]))
      await settleResult(local.answered, (put) => actualOf(askOf.get(put) as PolicyCheck))
    },
  }
}

interface CountedLocally {
  readonly checks: readonly PolicyCheck[]
  /** The same, put to the local store. */
  readonly answered: StoreAnswer
}

/** Counts in this process what its policies want counted there: all or nothing of it. */
function countLocally(
  all: readonly PolicyCheck[],
  modes: readonly StoreErrorOption[],
  verb: Verb,
  stepOptions: StepOptions | undefined,
): CountedLocally | undefined {
  const checks = all.filter((_, i) => modes[i] === 'local')
  if (checks.length === 0) return undefined
  const puts = checks.map((check) => ({ ...check, policy: localOf(check.policy) }))
  // The local store answers at once.
  return { checks, answered: answerTo(puts, takesFor(puts, verb, stepOptions)) as StoreAnswer }
}

/** A policy as this process enforces it by itself. */
export const localOf: (policy: Policy) => Policy = oncePer((policy: Policy): Policy => {
  const { localQuota: share, storeConfig } = policy
  const store = localStoreOf(storeConfig.store)
  return {
    ...policy,
    quota: share,
    storeConfig: { ...storeConfig, store },
    singleUnit: stepFor(share, 'consume', 1),
    fastPath: undefined,
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
): Promise<readonly LimiterAnswer[]> {
  const limiters = checks.flatMap((check, i) => {
    const limiter = modes[i]
    return typeof limiter === 'object' ? [{ check, limiter }] : []
  })
  return Promise.all(
    limiters.map(async ({ check, limiter }) => ({
      check,
      limiter,
      answer: await limiter[verb](keyOf(check), check.cost),
    })),
  )
}

// An empty key, which is that of all requests that lack it, is none for a limiter.
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
  return {
    allowed: !isDenied,
    policy: name,
    limit: quota.limit,
    remaining: 0,
    cost,
    retryAfterMs: 0,
    resetAfterMs: 0,
    replenishAfterMs: 0,
    delayMs: 0,
    violated: isDenied ? [name] : [],
    degraded: { reason, action: isDenied ? 'deny' : 'allow' },
  }
}
