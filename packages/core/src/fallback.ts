import type { CallDeadline } from './deadline.ts'
import type { Decision } from './decision.ts'
import { StoreError } from './errors.ts'
import type { FallbackLimiter, StoreErrorOption } from './failure-mode.ts'
import { localStoreOf } from './local-store.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { oncePer } from './once-per.ts'
import { type Answered, answerTo, giveBackLate, giveBackPart, type Part, settlePart, takesFor } from './part.ts'
import type { Ask, Policy } from './policy.ts'
import { stepFor, type Terms, type Verb } from './verbs.ts'

/** What the store of a part answers; without its answer, what its policies' `onStoreError` says. */
export function answerOrFallBack(
  asks: readonly Ask[],
  verb: Verb,
  terms?: Terms,
  deadline?: CallDeadline,
): MaybePromise<Part> {
  const part = answerTo(asks, takesFor(asks, verb, terms), deadline)
  if (!(part instanceof Promise)) return part
  return part.catch((error: unknown) => {
    if (error instanceof StoreError) return fallBack(error, asks, verb, terms)
    throw error
  })
}

/** Decides without the store, by the strictest of what the policies say. */
export async function fallBack(error: StoreError, asks: readonly Ask[], verb: Verb, terms?: Terms): Promise<Part> {
  const modes = asks.map(({ policy }) => policy.source.onStoreError)
  const takes = verb === 'consume' || verb === 'charge'
  const undoLate = (): void => {
    if (takes) giveBackLate(error, asks)
  }
  if (modes.includes('throw')) {
    undoLate()
    throw error
  }
  const isDenied = modes.includes('deny')
  const local = isDenied ? undefined : countLocally(asks, modes, verb, terms)
  const asked = isDenied ? [] : await askLimiters(asks, modes, verb)
  const decisionsBy = (counted: readonly Decision[]): readonly Decision[] =>
    asks.map((ask, i) => {
      const place = local?.asks.indexOf(ask) ?? -1
      const answer = place < 0 ? asked.find((each) => each.ask === ask)?.answer : counted[place]
      return decisionFor(ask, error, modes[i] as StoreErrorOption, answer, isDenied)
    })
  const part = { asks, decisions: decisionsBy(local?.answered.decisions ?? []) }
  const refundLimiters = async (): Promise<void> => {
    const paid = takes ? asked.filter(({ answer }) => answer.allowed) : []
    await Promise.allSettled(paid.map(({ ask, limiter }) => limiter.refund(keyOf(ask), ask.cost)))
  }
  const giveBack = async (): Promise<readonly Decision[]> => {
    await refundLimiters()
    if (!local?.answered.decisions.every(({ allowed }) => allowed)) return part.decisions
    const undone = await giveBackPart(local.answered)
    return decisionsBy(undone?.decisions ?? [])
  }
  // What the store takes after all stays only for a request that is allowed and that nothing else has counted.
  const isDeniedAtLast = part.decisions.some(({ allowed }) => !allowed)
  const stays = !isDeniedAtLast && local === undefined && asked.length === 0
  if (!stays) undoLate()
  if (isDeniedAtLast) await giveBack()
  return {
    ...part,
    giveBack: async () => {
      if (stays) undoLate()
      return { ...part, decisions: await giveBack() }
    },
    settle: async (actualOf) => {
      if (!local) return
      const askOf = new Map(local.answered.asks.map((put, i) => [put, local.asks[i] as Ask]))
      await settlePart(local.answered, (put) => actualOf(askOf.get(put) as Ask))
    },
  }
}

interface CountedLocally {
  readonly asks: readonly Ask[]
  /** The same, put to the local store. */
  readonly answered: Answered
}

/** Counts in this process what its policies want counted there: all or nothing of it. */
function countLocally(
  all: readonly Ask[],
  modes: readonly StoreErrorOption[],
  verb: Verb,
  terms: Terms | undefined,
): CountedLocally | undefined {
  const asks = all.filter((_, i) => modes[i] === 'local')
  if (asks.length === 0) return undefined
  const puts = asks.map((ask) => ({ ...ask, policy: localOf(ask.policy) }))
  // The local store answers at once.
  return { asks, answered: answerTo(puts, takesFor(puts, verb, terms)) as Answered }
}

/** A policy as this process enforces it by itself. */
export const localOf: (policy: Policy) => Policy = oncePer((policy: Policy): Policy => {
  const { share, source } = policy
  const store = localStoreOf(source.store)
  return {
    ...policy,
    quota: share,
    source: { ...source, store },
    one: stepFor(share, 'consume', 1),
    straight: undefined,
  }
})

interface Asked {
  readonly ask: Ask
  readonly limiter: FallbackLimiter
  readonly answer: Decision
}

function askLimiters(asks: readonly Ask[], modes: readonly StoreErrorOption[], verb: Verb): Promise<readonly Asked[]> {
  const limiters = asks.flatMap((ask, i) => {
    const limiter = modes[i]
    return typeof limiter === 'object' ? [{ ask, limiter }] : []
  })
  return Promise.all(
    limiters.map(async ({ ask, limiter }) => ({ ask, limiter, answer: await limiter[verb](keyOf(ask), ask.cost) })),
  )
}

// An empty key, which is that of all requests that lack it, is none for a limiter.
const keyOf = ({ key }: Ask): string => key || 'none'

function decisionFor(
  { policy: { name, quota }, cost }: Ask,
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
