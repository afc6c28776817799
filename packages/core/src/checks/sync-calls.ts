import type { Decision } from '../decisions/decision.ts'
import { copyOf, type Taken } from '../kernels/kernel.ts'
import type { PreparedStep } from '../policies/consume-steps.ts'
import {
  type Acquisition,
  type Batches,
  configOf,
  type PolicyCheck,
  type StoreAnswer,
  type StoreCalls,
} from '../policies/policy.ts'
import type { StepOptions, Verb } from '../steps/step-options.ts'
import { checkDeleted } from '../stores/answers.ts'
import { type PreparingStore, preparesTakes, type SyncStore, type Take } from '../stores/store.ts'
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

/** Decides checks by an in-memory store: by its prepared takes, if it has them. */
export function answerNow(checks: readonly PolicyCheck[], verb: Verb, stepOptions?: StepOptions): StoreAnswer {
  const prepared = verb === 'consume' && stepOptions === undefined ? consumeNow(checks) : undefined
  if (prepared !== undefined) return prepared
  const takes = takesFor(checks, verb, stepOptions)
  return answerOf(checks, takes, takeNow(checks, takes))
}

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

/** The acquisition of one check by a prepared take. What corrects it is made when it is needed: few are corrected. */
class PreparedAcquisition implements Acquisition {
  readonly checks: readonly PolicyCheck[]
  readonly decision: Decision
  readonly #taken: Taken

  constructor(checks: readonly PolicyCheck[], decision: Decision, taken: Taken) {
    this.checks = checks
    this.decision = decision
    this.#taken = taken
  }

  get results(): readonly [StoreAnswer] {
    return [{ checks: this.checks, decisions: [this.decision], taken: [this.#taken] }]
  }
}

/** Consumes the units of one check by its prepared take; undefined if its store prepares none. */
export function consumePrepared(checks: readonly PolicyCheck[]): PreparedAcquisition | undefined {
  const { policy, cost, key } = checks[0] as PolicyCheck
  const { take, decide } = policy.steps.costing(cost)
  if (take === undefined) return undefined
  const taken = take.take(key, (policy.storeConfig.store as PreparingStore).clock())
  return new PreparedAcquisition(checks, decide(taken), copyOf(taken))
}

/** Consumes units by prepared takes; undefined if the store has none, or a policy has two keys. */
function consumeNow(checks: readonly PolicyCheck[]): StoreAnswer | undefined {
  if (checks.length === 1) return consumePrepared(checks)?.results[0]
  const store = configOf(checks).store as PreparingStore
  if (!preparesTakes(store) || !areApart(checks)) return undefined
  const now = store.clock()
  const consumed = checks.map(({ policy, cost }) => policy.steps.costing(cost) as PreparedStep)
  let allowed = true
  for (let i = 0; i < checks.length; i++) {
    allowed = (consumed[i] as PreparedStep).take.look((checks[i] as PolicyCheck).key, now) && allowed
  }
  const taken = consumed.map(({ take }) => copyOf(take.commit(allowed)))
  return { checks, decisions: consumed.map(({ decide }, i): Decision => decide(taken[i] as Taken)), taken }
}

const areApart = (checks: readonly PolicyCheck[]): boolean =>
  checks.every(({ policy }, i) => checks.findIndex((other) => other.policy.name === policy.name) === i)
