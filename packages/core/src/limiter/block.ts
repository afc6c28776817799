import { QuotaError } from '../common/errors.ts'
import { all } from '../common/maybe-promise.ts'
import { type Duration, micros } from '../common/time.ts'
import { MOST_UNITS } from '../kernels/penalty.ts'
import { groupByStore } from '../policies/in-order.ts'
import type { Policy, PolicyCheck } from '../policies/policy.ts'
import { answerTo } from '../policies/takes.ts'
import { canBlock } from './blocked.ts'
import { callersOf, whileHeld } from './callers.ts'

/** Blocks keys by hand. The limiter must have the option `blocks`, or a quota that blocks: `penalty`. */
export interface Blocks {
  /**
   * Denies a key for `duration` from now, or until the end of its block if that is later. Rejects with a `QuotaError` if
   * the duration is invalid or the limiter cannot block, and with a `StoreError` if the store fails.
   */
  block(key: string, duration: Duration): Promise<void>
  /**
   * Ends the block of a key, as if it had never started: the units that started it are refunded, and its next block does
   * not grow by it. Callers of this process that wait for it go on. Rejects as `block` does.
   */
  unblock(key: string): Promise<void>
}

/** The states of a key that can be blocked. */
export function blockableStates(method: keyof Blocks, policies: readonly Policy[], key: string): readonly PolicyKey[] {
  const states = policies.filter(canBlock).map((policy) => ({ policy, key }))
  if (states.length > 0) return states
  throw cannotBlock(method)
}

/** The error of a limiter without a block list. */
export const cannotBlock = (method: keyof Blocks): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${method}: this limiter does not look for blocked keys. Build it with blocks: true.`,
  )

type PolicyKey = Pick<PolicyCheck, 'policy' | 'key'>

/** Blocks keys of policies. */
export const blockKey = (states: readonly PolicyKey[], duration: Duration): Promise<void> =>
  write(states, 'charge', micros(duration, 'block duration'))

/** Unblocks keys of policies. */
export const unblockKey = (states: readonly PolicyKey[]): Promise<void> =>
  whileHeld(callersOf(states), () => write(states, 'refund', 0), true)

async function write(states: readonly PolicyKey[], verb: 'charge' | 'refund', blockMicros: number): Promise<void> {
  const checks = states.map((state): PolicyCheck => ({ ...state, cost: MOST_UNITS }))
  const send = (group: readonly PolicyCheck[]) => answerTo(group, verb, { blockMicros })
  // The local store too: it decides while the store does not answer.
  const local = checks.flatMap((check) => {
    const policy = check.policy.storeConfig.calls.localOf?.(check.policy)
    return policy === undefined ? [] : [{ ...check, policy }]
  })
  if (local.length > 0) await send(local)
  await all(groupByStore(checks).map(send))
}
