import type { Taken } from '../kernels/kernel.ts'
import { MOST_UNITS } from '../kernels/penalty.ts'
import { groupByStore } from '../policies/in-order.ts'
import type { Policy, PolicyCheck } from '../policies/policy.ts'
import { answerTo } from '../policies/takes.ts'

/** Reports whether a policy denies blocked keys. */
export const canBlock = ({ quota }: Pick<Policy, 'quota'>): boolean => quota.kernel === 'penalty'

/** Whether a key has been blocked by hand; false if its store does not answer. */
export async function isBlockedByHand(checks: readonly PolicyCheck[]): Promise<boolean> {
  const states = checks.filter(({ policy }) => canBlock(policy))
  if (states.length === 0) return false
  const peek = async (group: readonly PolicyCheck[]) => answerTo(group, 'peek')
  const answers = await Promise.allSettled(groupByStore(states).map(peek))
  return answers.some((each) => each.status === 'fulfilled' && each.value.taken.some(isBlock))
}

const isBlock = (taken: Taken): boolean => 'level' in taken && taken.count >= MOST_UNITS && taken.until > taken.now
