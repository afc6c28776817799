import { QuotaError } from './errors.ts'
import { localOf } from './fallback.ts'
import { MOST_UNITS } from './kernels/penalty.ts'
import { all } from './maybe-promise.ts'
import { groupByStore, type Policy, type PolicyCheck } from './policy.ts'
import { isSync } from './store.ts'
import { answerTo, takesFor } from './store-result.ts'
import { type Duration, micros } from './time.ts'
import { checkKey, type StepOptions, type Verb } from './verbs.ts'

/** Blocks keys by hand. The limiter must have a quota that blocks: `penalty`. */
export interface Blocks {
  /**
   * Denies a key for `duration` from now, or until the end of its block if that is later. Rejects with a `QuotaError` if
   * the duration is invalid or the limiter has no `penalty`, and with a `StoreError` if the store fails.
   */
  block(key: string, duration: Duration): Promise<void>
  /**
   * Ends the block of a key, as if it had never started: its units are refunded, and its next block does not grow by it.
   * Rejects as `block` does.
   */
  unblock(key: string): Promise<void>
}

/** The methods of a limiter with these policies. */
export const blocksOf = (policies: readonly Policy[]): Blocks => ({
  block: async (key, duration) => {
    await write('block', policies, key, 'charge', { blockMicros: micros(duration, 'block duration') })
  },
  unblock: (key) => write('unblock', policies, key, 'refund'),
})

async function write(
  method: keyof Blocks,
  policies: readonly Policy[],
  key: string,
  verb: Verb,
  stepOptions?: StepOptions,
): Promise<void> {
  checkKey(key)
  const checks = policies
    .filter(({ quota }) => quota.kernel === 'penalty')
    .map((policy): PolicyCheck => ({ policy, key, cost: MOST_UNITS }))
  if (checks.length === 0) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `${method}: this limiter has no quota that blocks. Add one: quotas: { requests: perMinute(100), abuse: penalty({ after: 1000, within: '1h', block: '1h' }) }.`,
    )
  }
  const send = (group: readonly PolicyCheck[]) => answerTo(group, takesFor(group, verb, stepOptions))
  // The local store too: it decides while the store does not answer.
  const local = checks.filter(({ policy }) => !isSync(policy.storeConfig.store))
  if (local.length > 0) await send(local.map((check) => ({ ...check, policy: localOf(check.policy) })))
  await all(groupByStore(checks).map(send))
}
