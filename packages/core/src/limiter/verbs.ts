import type { Decision } from '../algorithms/decision.ts'
import type { Verb } from '../algorithms/step-options.ts'
import { checkKey, checkUnits } from '../algorithms/verbs.ts'
import { checkOptions } from '../common/guess.ts'
import { andThen, type MaybePromise, promised } from '../common/maybe-promise.ts'
import { checkSignal } from '../common/signal.ts'
import type { Duration } from '../common/time.ts'
import { decideNow } from '../policies/acquisition.ts'
import { actualsOf, type Costs } from '../policies/costs.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import type { StateKey } from '../stores/store.ts'
import { blockableStates, blockKey, unblockKey } from './block.ts'
import { type Inspection, inspectKey } from './inspect.ts'
import type { LimiterInternals } from './internals.ts'
import { listKeys } from './list.ts'
import type { KeyList, ListOptions } from './list-types.ts'
import { maxWaitMicros, type Reservation, type ReserveOptions, reserveFor } from './reservation.ts'
import { resetAllOf, resetKey } from './reset.ts'
import { consumeUpToOf, type UpToDecision } from './up-to.ts'
import { type WaitOptions, waitFor } from './wait.ts'

// The verbs of a limiter by its internals: methods of rateLimiter, and functions of the lean entry.

const checksFor = (
  { active, checksOf }: LimiterInternals,
  verb: Verb,
  key: string,
  cost: number | Costs = 1,
): MaybePromise<readonly PolicyCheck[]> => andThen(active().forKey(key), (named) => checksOf(named, verb, key, cost))

/** Runs a verb that one step of the store is. */
export const run = (own: LimiterInternals, verb: Verb, key: string, cost?: number | Costs): Promise<Decision> =>
  promised(() => andThen(checksFor(own, verb, key, cost), (checks) => decideNow(verb, checks)))

export const consumeUpTo = async (own: LimiterInternals, key: string, units: number): Promise<UpToDecision> =>
  consumeUpToOf(await checksFor(own, 'consume', key, checkUnits(units)))

export async function reserve(own: LimiterInternals, key: string, options: ReserveOptions = {}): Promise<Reservation> {
  checkOptions('reserve', options, ['cost', 'maxWait'])
  const named = await own.active().forKey(key)
  const checks = own.checksOf(named, 'consume', key, options.cost ?? 1)
  return reserveFor(checks, maxWaitMicros(options.maxWait), (actual: number | Costs | undefined) =>
    actualsOf(named, actual),
  )
}

export const wait = (own: LimiterInternals, key: string, options: WaitOptions = {}): Promise<Decision> =>
  promised(() => {
    checkOptions('wait', options, ['cost', 'maxWait', 'signal'])
    const [maxWait, signal] = [maxWaitMicros(options.maxWait), checkSignal(options.signal)]
    return andThen(checksFor(own, 'consume', key, options.cost), (checks) => waitFor(checks, maxWait, signal))
  })

export async function block(own: LimiterInternals, key: string, duration: Duration): Promise<void> {
  const { policies } = await own.active().forKey(checkKey(key))
  return blockKey(blockableStates('block', policies, key), duration)
}

export async function unblock(own: LimiterInternals, key: string): Promise<void> {
  const { policies } = await own.active().forKey(checkKey(key))
  return unblockKey(blockableStates('unblock', policies, key))
}

export const inspect = async (own: LimiterInternals, key: string): Promise<readonly Inspection[]> =>
  inspectKey((await own.active().forKey(key)).policies, key)

export const list = async (own: LimiterInternals, options: ListOptions = {}): Promise<KeyList> =>
  listKeys(own.active().policies, options)

export async function reset({ active, storeConfig }: LimiterInternals, key: string): Promise<boolean> {
  checkKey(key)
  return resetKey(active().names.map((policy) => ({ policy, key })) as [StateKey], storeConfig)
}

export const resetAll = async ({ active, storeConfig }: LimiterInternals, policy?: string): Promise<number> =>
  resetAllOf(active().names, storeConfig, policy)
