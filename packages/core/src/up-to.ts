import { breakerOf } from './breaker.ts'
import type { CallDeadline } from './deadline.ts'
import { decide, merge } from './decide.ts'
import type { Decision } from './decision.ts'
import { QuotaError, StoreError } from './errors.ts'
import { fallBack, localOf } from './fallback.ts'
import { deadlines, inTurn } from './in-turn.ts'
import { spanning, type Taken } from './kernels/kernel.ts'
import { all, andThen, type MaybePromise } from './maybe-promise.ts'
import {
  type Answered,
  answerTo,
  deadlineOf,
  giveBackPart,
  type Part,
  refundsOf,
  settlePart,
  takeFor,
  takesFor,
} from './part.ts'
import { type Ask, partsOf } from './policy.ts'
import { isSync, type SyncStore, type Take } from './store.ts'

/** The answer of `consumeUpTo`: denied if nothing was consumed. `cost` is what was asked for. */
export interface UpToDecision<Name extends string = string> extends Decision<Name> {
  /** Units that were consumed, from 0 to `cost`. */
  readonly consumed: number
}

/**
 * Sizes that add up to `units`, each at most one more than all after it. Taken one after the other wherever they fit, they
 * reach every number from 0 to `units`: so they take as much as fits, of any algorithm and of several policies at once.
 */
export function sizesUpTo(units: number): readonly number[] {
  const sizes: number[] = []
  for (let left = units; left > 0; left = Math.floor(left / 2)) sizes.push(Math.ceil(left / 2))
  return sizes
}

/** Consumes as many units as all policies have, up to the cost of the asks, which is one for all of them. */
export function consumeUpTo(asks: readonly Ask[]): MaybePromise<UpToDecision> {
  const [{ cost }] = asks as readonly [Ask]
  let units = Math.min(cost, ...asks.map(({ policy }) => policy.quota.limit))
  const deadlineFor = deadlines()
  const answer = (part: readonly Ask[]): MaybePromise<Part> =>
    andThen(answerUpTo(costing(part, units), deadlineFor(part)), (answered) => {
      units = (answered.asks[0] as Ask).cost
      return answered
    })
  const peek = (part: readonly Ask[]): MaybePromise<Part> =>
    answerTo(costing(part, 1), takesFor(costing(part, 1), 'peek', PREPAID))
  const answers = inTurn(partsOf(asks), answer, peek, deadlineFor)
  const trim = (part: Part): MaybePromise<Part> => (isAllowed(part) ? trimmed(part, units) : part)
  return andThen(answers, (parts) =>
    andThen(all(parts.every(isAllowed) ? parts.map(trim) : parts), (final) => decisionOf(asks, final, units)),
  )
}

const PREPAID = { prepaid: true }

const costing = (asks: readonly Ask[], cost: number): readonly Ask[] => asks.map((ask) => ({ ...ask, cost }))

const isAllowed = ({ decisions }: Pick<Part, 'decisions'>): boolean => decisions.every(({ allowed }) => allowed)

/** One store takes as much as fits in one step. */
function answerUpTo(asks: readonly Ask[], deadline: CallDeadline | undefined): MaybePromise<Part> {
  const [{ policy, cost }] = asks as readonly [Ask]
  const { store, logger } = policy.source
  const sizes = sizesUpTo(cost)
  const batches = sizes.map((size) => costing(asks, size).map((ask) => takeFor(ask, 'consume', PREPAID)))
  if (isSync(store)) return sum(asks, sizes, takeEachSync(store, batches))
  if (!store.takeEach) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'consumeUpTo: this store takes one batch at a time. Call consume(key, cost), or use a store with takeEach, such as memoryStore().',
    )
  }
  const until = deadline ?? deadlineOf(asks)
  const { takeEach } = store
  const answers = breakerOf(store).call(
    { policy: policy.name, key: (asks[0] as Ask).key },
    () => takeEach.call(store, batches, undefined, until),
    until,
    logger,
  )
  return answers.then(
    (taken) => sum(asks, sizes, taken),
    (error: unknown) => {
      if (error instanceof StoreError) return fallBackUpTo(error, asks, sizes)
      throw error
    },
  )
}

function takeEachSync(store: SyncStore, batches: readonly (readonly Take[])[]): readonly (readonly Taken[])[] {
  let at: number | undefined
  return batches.map((ops) => {
    const taken = store.takeSync(ops, at)
    at = taken[0]?.now
    return taken
  })
}

/** What all batches together have taken, as one take of so many units; the denial of a single unit if that is none. */
function sum(asks: readonly Ask[], sizes: readonly number[], answers: readonly (readonly Taken[])[]): Answered {
  const fits = answers.map((taken) => taken.every(({ allowed }) => allowed))
  const units = sizes.reduce((total, size, i) => total + (fits[i] ? size : 0), 0)
  // The last of the sizes is one unit.
  const [first, last] = [answers[fits.indexOf(true)] ?? answers.at(-1), answers.at(fits.lastIndexOf(true))]
  const consumed = costing(asks, Math.max(units, 1))
  const taken = asks.map((_, i) => spanning(first?.[i] as Taken, last?.[i] as Taken))
  const decisions = consumed.map((ask, i) =>
    decide(ask.policy.name, ask.policy.quota, ask.cost, takeFor(ask, 'consume', PREPAID).step, taken[i] as Taken),
  )
  return { asks: consumed, decisions, taken }
}

/** Without the store: as much as this process has by itself, or all or nothing, as `onStoreError` says. */
async function fallBackUpTo(error: StoreError, asks: readonly Ask[], sizes: readonly number[]): Promise<Part> {
  const { store, onStoreError } = (asks[0] as Ask).policy.source
  // What 'allow' lets pass uncounted keeps what the store takes late.
  if (onStoreError !== 'allow') {
    void error.late?.then((answers) => {
      if (answers === undefined) return
      const late = sum(asks, sizes, answers as readonly (readonly Taken[])[])
      if (isAllowed(late)) breakerOf(store).owe(refundsOf(late), true)
    })
  }
  if (onStoreError === 'throw') throw error
  if (onStoreError !== 'local') return fallBack(Object.create(error, { late: { value: undefined } }), asks, 'consume')
  const local = asks.map((ask) => ({ ...ask, policy: localOf(ask.policy) }))
  const counted = answerUpTo(local, undefined) as Answered
  const { cost } = counted.asks[0] as Ask
  const partOf = ({ decisions }: Pick<Part, 'decisions'>): Pick<Part, 'asks' | 'decisions'> => ({
    asks: costing(asks, cost),
    decisions: decisions.map((each) => ({ ...each, degraded: { reason: error.reason, action: 'local' } })),
  })
  return {
    ...partOf(counted),
    giveBack: async () => partOf((await giveBackPart(counted)) ?? counted),
    settle: (actualOf) => settlePart(counted, () => actualOf(asks[0] as Ask)),
  }
}

/** Gives back what a part has consumed beyond `units`, the most that a later one had. */
function trimmed(part: Part, units: number): MaybePromise<Part> {
  const asks = costing(part.asks, units)
  const over = (part.asks[0] as Ask).cost - units
  if (over === 0) return part
  if (part.taken === undefined) return part.settle(() => units).then(() => ({ ...part, asks }))
  const refunded = giveBackPart({ ...part, asks: costing(part.asks, over) })
  return andThen(refunded, (left) => ({ ...part, asks, decisions: left?.decisions ?? part.decisions }))
}

function decisionOf(asks: readonly Ask[], parts: readonly Part[], units: number): UpToDecision {
  const [{ cost }] = asks as readonly [Ask]
  const answered = parts.flatMap((part) => part.asks.map(({ policy }, i) => ({ policy, decision: part.decisions[i] })))
  const decisions = asks.flatMap(({ policy }) => {
    const { decision } = answered.find((each) => each.policy === policy) ?? {}
    return decision ? [{ ...decision, cost }] : []
  })
  const decision = decisions.length === 1 ? (decisions[0] as Decision) : merge(decisions)
  return { ...decision, consumed: decision.allowed ? units : 0 }
}
