import type { Decision } from '../decision.ts'
import { QuotaError, type StoreError, shown } from '../errors.ts'
import type { RateLimiter } from '../limiter.ts'
import { giveBackLate, type StoodIn } from '../part.ts'
import type { Ask } from '../policy.ts'

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
  error: StoreError,
  asks: readonly Ask[],
  wishes: readonly StoreErrorOption[],
): Promise<StoodIn> {
  if (wishes.includes('throw')) throw error
  const denied = wishes.includes('deny')
  const asked = denied ? [] : await askOthers(asks, wishes)
  const decisions = asks.map((ask) => {
    const answer = asked.find((each) => each.ask === ask)?.answer
    return decisionFor(ask, error, answer, denied)
  })
  const refund = async (): Promise<void> => {
    const paid = asked.filter(({ answer }) => answer.allowed)
    await Promise.allSettled(paid.map(({ ask, limiter }) => limiter.refund(keyOf(ask), ask.cost)))
  }
  const refused = decisions.some(({ allowed }) => !allowed)
  // What the store takes after all goes back, unless the request passes and nobody else has counted it.
  if (refused || asked.length > 0) giveBackLate(error, asks)
  if (refused) await refund()
  return {
    decisions,
    giveBack: () => {
      if (asked.length === 0) giveBackLate(error, asks)
      return refund()
    },
  }
}

interface Asked {
  readonly ask: Ask
  readonly limiter: RateLimiter
  readonly answer: Decision
}

function askOthers(asks: readonly Ask[], wishes: readonly StoreErrorOption[]): Promise<readonly Asked[]> {
  const limiters = asks.flatMap((ask, i) => {
    const limiter = wishes[i]
    return typeof limiter === 'object' ? [{ ask, limiter }] : []
  })
  return Promise.all(
    limiters.map(async ({ ask, limiter }) => ({
      ask,
      limiter,
      answer: await limiter.consume(keyOf(ask), ask.cost),
    })),
  )
}

// An empty key, which is that of all requests that lack it, is none for a limiter.
const keyOf = ({ key }: Ask): string => key || 'none'

function decisionFor(
  { policy: { name, quota }, cost }: Ask,
  { reason }: StoreError,
  answer: Decision | undefined,
  denied: boolean,
): Decision {
  if (answer !== undefined) {
    const violated = answer.allowed ? [] : [name]
    return { ...answer, policy: name, violated, degraded: { reason, action: 'fallback' } }
  }
  return {
    allowed: !denied,
    policy: name,
    limit: quota.limit,
    remaining: 0,
    cost,
    retryAfterMs: 0,
    resetAfterMs: 0,
    replenishAfterMs: 0,
    delayMs: 0,
    violated: denied ? [name] : [],
    degraded: { reason, action: denied ? 'deny' : 'allow' },
  }
}
