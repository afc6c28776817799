import type { StepOptions, Verb } from '../algorithms/step-options.ts'
import type { Taken } from '../kernels/kernel.ts'
import { checkDeleted } from '../stores/answers.ts'
import type { SyncStore, Take } from '../stores/store.ts'
import { preparesTakes } from '../stores/store-kinds.ts'
import type { Batches, PolicyCheck, StoreCalls, StoreResult } from './policy.ts'
import { configOf } from './policy-of.ts'
import { answerOf, answerTogether, takesFor } from './takes.ts'

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
function answerNow(checks: readonly PolicyCheck[], verb: Verb, stepOptions?: StepOptions): StoreResult {
  const { store } = configOf(checks)
  if (verb === 'consume' && stepOptions === undefined && preparesTakes(store) && areApart(checks))
    return answerTogether(checks, store.clock())
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
