import type { Decision } from '../algorithms/decision.ts'
import { allow, deny, NONE } from '../algorithms/decision-of.ts'
import { isBlockList } from '../algorithms/penalty/block-list.ts'
import { StoreError } from '../common/errors.ts'
import type { StoreErrorOption } from '../policies/failure-mode.ts'
import type { FailingCall, PolicyCheck, StoreResult } from '../policies/policy.ts'
import { lateUnits, NONE_USED } from './late-units.ts'
import { countByLimiters } from './limiter-count.ts'
import { countLocally } from './local-count.ts'
import type { Substitute } from './substitute.ts'

/** Decides without the store, by the strictest failure mode of the policies. */
export async function fallBack(
  error: unknown,
  checks: readonly PolicyCheck[],
  call: FailingCall,
): Promise<StoreResult> {
  if (!(error instanceof StoreError)) throw error
  const late = call.verb === 'consume' || call.verb === 'charge' ? lateUnits(error, call.readLate) : undefined
  // Units that the store takes late are kept only for an allowed request that was counted nowhere else.
  let keepsLate = false
  try {
    const counts = await countElsewhere(error, checks, call, late !== undefined)
    const decisionsNow = (): readonly Decision[] => checks.map(deciderOf(error, checks, counts))
    const decisions = decisionsNow()
    const isAllowed = decisions.every(({ allowed }) => allowed)
    keepsLate = isAllowed && counts.length === 0
    const parts = late === undefined ? [] : keepsLate ? [late] : counts
    if (!isAllowed) await rollbackAll(parts)
    return {
      checks,
      decisions,
      taken: NONE,
      fallback: {
        rollback: async () => {
          await rollbackAll(parts)
          return decisionsNow()
        },
        settle: async (actualOf) => {
          for (const each of parts) await each.settle(actualOf)
        },
      },
    }
  } finally {
    if (!keepsLate) late?.settle(NONE_USED)
  }
}

const modeOf = ({ policy }: PolicyCheck): StoreErrorOption => policy.storeConfig.onStoreError

const isDenied = (checks: readonly PolicyCheck[]): boolean => checks.some((check) => modeOf(check) === 'deny')

/** Counts checks by the failure modes that count. If one throws, nothing stays counted of a call that takes units. */
async function countElsewhere(
  error: StoreError,
  checks: readonly PolicyCheck[],
  { verb, countBy }: FailingCall,
  hasUnits: boolean,
): Promise<readonly Substitute[]> {
  if (checks.some((check) => modeOf(check) === 'throw')) throw error
  if (isDenied(checks)) return []
  const inProcess = checks.filter((check) => modeOf(check) === 'local')
  const byLimiters = checks.filter((check) => typeof modeOf(check) === 'object' && !isBlockList(check.policy.quota))
  const local = inProcess.length === 0 ? [] : [countLocally(inProcess, countBy)]
  if (byLimiters.length === 0) return local
  const limiters = await countByLimiters(byLimiters, verb)
  if (limiters.failed === undefined) return [limiters, ...local]
  if (hasUnits) await rollbackAll([limiters, ...local])
  throw limiters.failed.reason
}

async function rollbackAll(parts: readonly Substitute[]): Promise<void> {
  for (const each of parts) await (each.rollback ? each.rollback() : each.settle(NONE_USED))
}

/** Decides a check by what has counted it, or by its failure mode. */
const deciderOf =
  ({ reason }: StoreError, checks: readonly PolicyCheck[], counts: readonly Substitute[]) =>
  (check: PolicyCheck): Decision => {
    const { name, quota } = check.policy
    const counted = counts.map((each) => each.decisionOf(check)).find(Boolean)
    if (counted !== undefined) {
      const action = modeOf(check) === 'local' ? 'local' : 'fallback'
      return { ...counted, policy: name, violated: counted.allowed ? [] : [name], degraded: { reason, action } }
    }
    const action = isDenied(checks) ? 'deny' : 'allow'
    const isList = isBlockList(quota)
    const allowed = action === 'allow' || isList
    return {
      ...(allowed ? allow : deny)(name, isList ? 0 : quota.limit, 0, check.cost, 0, 0, 0),
      degraded: { reason, action },
    }
  }
