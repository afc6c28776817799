import type { Decision } from '../algorithms/decision.ts'
import type { Verb } from '../algorithms/step-options.ts'
import type { FallbackLimiter } from '../policies/failure-mode.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import type { Substitute } from './substitute.ts'

/** Checks that other limiters have counted. */
export interface LimiterCount extends Substitute {
  /** What the first limiter that failed has thrown. */
  readonly failed: PromiseRejectedResult | undefined
}

interface LimiterAnswer {
  readonly check: PolicyCheck
  readonly limiter: FallbackLimiter
  readonly decision: Decision
}

/** Counts checks by the limiters that are their failure modes. */
export async function countByLimiters(checks: readonly PolicyCheck[], verb: Verb): Promise<LimiterCount> {
  const results = await Promise.allSettled(checks.map((check) => ask(check, verb)))
  const answers = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  return {
    failed: results.find((each) => each.status === 'rejected'),
    decisionOf: (check) => answers.find((each) => each.check === check)?.decision,
    settle: async (actualOf) => {
      await Promise.allSettled(answers.map((each) => correct(each, actualOf(each.check))))
    },
  }
}

async function ask(check: PolicyCheck, verb: Verb): Promise<LimiterAnswer> {
  const limiter = check.policy.storeConfig.onStoreError as FallbackLimiter
  return { check, limiter, decision: await limiter[verb](keyOf(check), check.cost) }
}

/** Corrects what a limiter has consumed to the actual cost. */
async function correct({ check, limiter, decision }: LimiterAnswer, actual: number): Promise<void> {
  if (!decision.allowed || actual === check.cost) return
  if (actual < check.cost) await limiter.refund(keyOf(check), check.cost - actual)
  else await limiter.charge(keyOf(check), actual - check.cost)
}

// Requests without a key share the empty key, which limiters reject.
const keyOf = ({ key }: PolicyCheck): string => key || 'none'
