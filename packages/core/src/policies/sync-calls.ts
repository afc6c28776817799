import type { Decision } from '../algorithms/decision.ts'
import type { StepOptions, Verb } from '../algorithms/step-options.ts'
import type { Micros } from '../common/time.ts'
import { copyOf, type Taken } from '../kernels/kernel.ts'
import { checkDeleted } from '../stores/answers.ts'
import type { PreparingStore, SyncStore, Take } from '../stores/store.ts'
import { preparesTakes } from '../stores/store-kinds.ts'
import type { ConsumeStep } from './consume-steps.ts'
import type { Batches, PolicyCheck, StoreAnswer, StoreCalls } from './policy.ts'
import { configOf } from './policy-of.ts'
import { answerOf, takesFor } from './takes.ts'

/** The calls of an in-memory store: it answers in the same tick, so that nothing can happen meanwhile, nor fail. */
export const SYNC_CALLS: StoreCalls = {
  decide: answerNow,
  take: takeNow,
  takeEach: takeEachNow,
  fallBack: (error) => Promise.reject(error),
  refund: takeNow,
  charge: takeNow,
  delete: (keys, { store }) => checkDeleted((store as SyncStore).deleteSync(keys)),
  deleteAll: async (policies, store) => checkDeleted(await store.deleteAll(policies)),
}

/** Decides checks by an in-memory store: by its prepared takes, if it has them, and no policy has two keys. */
function answerNow(checks: readonly PolicyCheck[], verb: Verb, stepOptions?: StepOptions): StoreAnswer {
  const isPrepared = verb === 'consume' && stepOptions === undefined && preparesTakes(configOf(checks).store)
  if (isPrepared && areApart(checks)) return answerTogether(checks)
  const takes = takesFor(checks, verb, stepOptions)
  return answerOf(checks, takes, takeNow(checks, takes))
}

const areApart = (checks: readonly PolicyCheck[]): boolean =>
  checks.every(({ policy }, i) => checks.findIndex((other) => other.policy.name === policy.name) === i)

function takeNow(checks: readonly PolicyCheck[], takes: readonly Take[]): readonly Taken[] {
  return (configOf(checks).store as SyncStore).takeSync(takes)
}

function takeEachNow(checks: readonly PolicyCheck[], batches: Batches): readonly (readonly Taken[])[] {
  const store = configOf(checks).store as SyncStore
  let at: number | undefined
  return batches.map((ops) => {
    const taken = store.takeSync(ops, at)
    at = taken[0]?.now
    return taken
  })
}

/** Consumes the units of checks by their prepared takes. */
export function answerTogether(checks: readonly PolicyCheck[]): StoreAnswer {
  const taken: Taken[] = []
  const steps = checks.map(({ policy, cost }) => (cost === 1 ? policy.steps.one : policy.steps.costing(cost)))
  const { store } = (checks[0] as PolicyCheck).policy.storeConfig
  return { checks, decisions: consumeTogether(steps, checks, (store as PreparingStore).clock(), taken), taken }
}

/**
 * Takes prepared steps, all or none, and decides each. `keyed` is the key of all of them, or has that of each. What the next takes
 * overwrite is copied to `kept`.
 */
export function consumeTogether(
  steps: readonly ConsumeStep[],
  keyed: string | readonly PolicyCheck[],
  now: Micros,
  kept?: Taken[],
): Decision[] {
  let allowed = true
  // Iterators and destructured elements would make this too large to inline what it calls.
  for (let i = 0; i < steps.length; i++) {
    const key = typeof keyed === 'string' ? keyed : (keyed[i] as PolicyCheck).key
    if (!(steps[i] as ConsumeStep).take.look(key, now)) allowed = false
  }
  const decisions = new Array<Decision>(steps.length)
  for (let i = 0; i < steps.length; i++) {
    const { take, decide } = steps[i] as ConsumeStep
    const taken = take.commit(allowed)
    if (kept !== undefined) kept[i] = copyOf(taken)
    decisions[i] = decide(taken)
  }
  return decisions
}
