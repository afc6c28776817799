import { StoreError } from '../common/errors.ts'
import type { Decision } from '../decisions/decision.ts'
import type { ActualOf, FallbackResult, PolicyCheck, StoreAnswer } from '../policies/policy.ts'
import { isBlockList } from '../quotas/block-list.ts'
import type { Verb } from '../steps/step-options.ts'
import type { StoreErrorOption } from '../stores/failure-mode.ts'
import { type LateUnits, lateUnits, type ReadLate } from './late-units.ts'
import { countByLimiters } from './limiter-count.ts'
import { countLocally } from './local-count.ts'
import type { Substitute } from './substitute.ts'

/** A call that a store may fail: what it does, how it is counted in this process instead, and its late answer. */
export interface FailingCall {
  readonly verb: Verb
  readonly countBy: (local: readonly PolicyCheck[]) => StoreAnswer
  readonly readLate: ReadLate
}

/** Decides without the store, by the strictest failure mode of the policies. */
export async function fallBack(
  error: unknown,
  checks: readonly PolicyCheck[],
  call: FailingCall,
): Promise<FallbackResult> {
  if (!(error instanceof StoreError)) throw error
  const late = takesUnits(call.verb) ? lateUnits(error, call.readLate) : undefined
  const modes = checks.map(modeOf)
  if (modes.includes('throw')) {
    late?.rollback()
    throw error
  }
  const isDenied = modes.includes('deny')
  const counts = isDenied ? [] : await countElsewhere(checks, call, late)
  const decisionsNow = (): readonly Decision[] =>
    checks.map((check) => decisionFor(check, error, isDenied, decisionOf(check, counts)))
  const decisions = decisionsNow()
  const isAllowed = decisions.every(({ allowed }) => allowed)
  // Units that the store takes late are kept only for an allowed request that was counted nowhere else.
  const keepsLate = isAllowed && counts.length === 0
  if (!keepsLate) late?.rollback()
  const parts = late === undefined ? [] : keepsLate ? [late] : counts
  if (!isAllowed) await rollbackAll(parts)
  return {
    checks,
    decisions,
    rollback: async () => {
      await rollbackAll(parts)
      return { checks, decisions: decisionsNow() }
    },
    settle: (actualOf) => settleAll(parts, actualOf),
  }
}

const takesUnits = (verb: Verb): boolean => verb === 'consume' || verb === 'charge'

const modeOf = ({ policy }: PolicyCheck): StoreErrorOption => policy.storeConfig.onStoreError

/** Counts checks by the failure modes that count. If a limiter fails, nothing stays counted, and its error is thrown. */
async function countElsewhere(
  checks: readonly PolicyCheck[],
  { verb, countBy }: FailingCall,
  late: LateUnits | undefined,
): Promise<readonly Substitute[]> {
  const inProcess = checks.filter((check) => modeOf(check) === 'local')
  const byLimiters = checks.filter((check) => typeof modeOf(check) === 'object')
  const local = inProcess.length === 0 ? [] : [countLocally(inProcess, countBy)]
  if (byLimiters.length === 0) return local
  const limiters = await countByLimiters(byLimiters, verb)
  if (limiters.failed === undefined) return [limiters, ...local]
  if (late !== undefined) await rollbackAll([late, limiters, ...local])
  throw limiters.failed.reason
}

const decisionOf = (check: PolicyCheck, counts: readonly Substitute[]): Decision | undefined => {
  for (const each of counts) {
    const decision = each.decisionOf(check)
    if (decision !== undefined) return decision
  }
  return undefined
}

async function rollbackAll(parts: readonly Substitute[]): Promise<void> {
  for (const each of parts) await each.rollback()
}

async function settleAll(parts: readonly Substitute[], actualOf: ActualOf): Promise<void> {
  for (const each of parts) await each.settle(actualOf)
}

function decisionFor(
  check: PolicyCheck,
  { reason }: StoreError,
  isDenied: boolean,
  counted: Decision | undefined,
): Decision {
  const { name, quota } = check.policy
  if (counted !== undefined) {
    const action = modeOf(check) === 'local' ? 'local' : 'fallback'
    return { ...counted, policy: name, violated: counted.allowed ? [] : [name], degraded: { reason, action } }
  }
  const isList = isBlockList(quota)
  const denies = isDenied && !isList
  return {
    allowed: !denies,
    policy: name,
    limit: isList ? 0 : quota.limit,
    remaining: 0,
    cost: check.cost,
    retryAfterMs: 0,
    resetAfterMs: 0,
    replenishAfterMs: 0,
    delayMs: 0,
    violated: denies ? [name] : [],
    degraded: { reason, action: isDenied ? 'deny' : 'allow' },
  }
}
