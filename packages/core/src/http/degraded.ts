import type { Decision } from '../decision.ts'
import { QuotaError, type StoreError, shown } from '../errors.ts'
import type { Taken } from '../kernels/kernel.ts'
import type { RateLimiter } from '../limiter.ts'
import { type Ask, type Source, settleAt } from '../policy.ts'

/**
 * What to do with a request when the store does not answer: let it pass, refuse it (503, not 429: it is not the
 * client's fault), ask another limiter, or hand the error to the app.
 */
export type StoreErrorOption = 'allow' | 'deny' | 'throw' | RateLimiter

/** Checks what is to be done when the store does not answer. */
export function checkStoreError(option: unknown): StoreErrorOption {
  if (option === 'allow' || option === 'deny' || option === 'throw') return option
  if (typeof option === 'object' && option !== null && 'consume' in option) return option as RateLimiter
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `onStoreError must be 'allow', 'deny', 'throw' or a limiter to ask instead; got ${shown(option)}.`,
  )
}

/** Decides without the store, by the strictest of what the policies want. Each ask comes with its policy's wish. */
export async function decideWithout(
  source: Source,
  error: StoreError,
  asks: readonly Ask[],
  wishes: readonly StoreErrorOption[],
): Promise<Decision> {
  if (wishes.includes('throw')) throw error
  const limiters = asks.flatMap((ask, i) => {
    const wish = wishes[i]
    return typeof wish === 'object' ? [{ wish, ask }] : []
  })
  const denied = wishes.includes('deny')
  const answers = denied
    ? []
    : await Promise.all(limiters.map(({ wish, ask }) => wish.consume(ask.key || 'none', ask.cost)))
  const allowed = !denied && answers.every((answer) => answer.allowed)
  // What the store took after all, for a request that it did not decide about, goes back: unless that request passed.
  if (!(allowed && limiters.length === 0)) giveBackLate(source, error, asks)
  const action = denied ? 'deny' : limiters.length > 0 ? 'fallback' : 'allow'
  const speaking = answers.find((answer) => !answer.allowed) ?? answers[0] ?? unknown(asks[0] as Ask)
  return {
    ...speaking,
    allowed,
    violated: allowed ? [] : denied ? asks.map(({ policy }) => policy.name) : speaking.violated,
    degraded: { reason: error.reason, action },
  }
}

const unknown = ({ policy, cost }: Ask): Decision => ({
  allowed: true,
  policy: policy.name,
  limit: policy.quota.limit,
  remaining: 0,
  cost,
  retryAfterMs: 0,
  resetAfterMs: 0,
  replenishAfterMs: 0,
  delayMs: 0,
  violated: [],
})

function giveBackLate(source: Source, { late }: StoreError, asks: readonly Ask[]): void {
  const giveBack = async (answer: unknown): Promise<void> => {
    const taken = answer as readonly Taken[] | undefined
    if (taken === undefined || !taken.every(({ allowed }) => allowed)) return
    await settleAt(source, { asks, taken, decision: { ...unknown(asks[0] as Ask), allowed: true } }, () => 0)
  }
  // A store that fails again keeps what it took: the units come back with time.
  late?.then(giveBack).catch(() => {})
}
