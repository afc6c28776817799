import { formatValue, QuotaError } from '../common/errors.ts'
import { processState } from '../common/process-state.ts'
import type { Micros } from '../common/time.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import type { Outcome, State, Step, Taken } from '../kernels/kernel.ts'
import type { Kernel } from '../kernels/kernels.ts'
import type { Decide, Decision } from './decision.ts'
import type { PreparedTake } from './prepared-take.ts'
import type { BucketQuota, Quota } from './quota-types.ts'
import type { States } from './states.ts'
import type { StepOptions, Verb } from './step-options.ts'
import { maxUnits, needsUnits } from './verbs.ts'

/** How a quota is checked that may have been changed, or built by something else. */
export interface QuotaChecks<Q extends Quota = Quota> {
  /** Reports whether all parts are there: without a number, a quota might never deny. */
  isComplete(quota: Q): boolean
  /**
   * Reports whether the numbers of a complete quota belong together. Some of them follow from others: a bucket whose
   * `limit` is raised by hand would queue the units in addition, without a word.
   */
  agree(quota: Q): boolean
}

/**
 * What depends on the algorithm of a quota. The functions that build quotas register theirs, so that a bundle has the
 * algorithms of its quotas, and no other.
 */
export interface Algorithm<Q extends Quota = Quota, S extends Step = Step, T extends Taken = Taken> {
  readonly kernel: Kernel<S, Outcome, T>
  readonly checks: QuotaChecks<Q>
  /** Reduces a verb to a step. `cost` is in units. */
  stepFor(quota: Q, verb: Verb, cost: number, stepOptions: StepOptions): S
  /** Returns what turns the results of a step into decisions. */
  decider(policy: string, quota: Q, cost: number, step: S): Decide<T>
  /** Throws a QuotaError if the quota is too large for a store that keeps logs of up to `maxLogLimit` entries. */
  checkSize?(policy: string, quota: Q, maxLogLimit?: number): void
  /**
   * Prepares a step that consumes units on the stored numbers of an in-memory store. `general` takes it by its kernel, and so the
   * states that such numbers cannot hold.
   * @default `general`
   */
  take?(states: States, step: S, general: PreparedTake): PreparedTake
  /** The share of one of several processes, 2 or more, of a quota with units. */
  divide(quota: Q, replicas: number): Quota
  /** Present if this is the part of an algorithm that consumes units: throws, and says how to get the whole. */
  needsWhole?(what: string): never
  /** A feature of the pipeline that comes with its quotas: the seams have its type. */
  readonly feature?: object
  /** The verbs that limiters have besides, by their internals. */
  verbsOf?(internals: object): object
}

type Name = Quota['kernel']

// Of all copies of this module: a quota may be built by one and enforced by another.
const algorithms: Partial<Record<Name, Algorithm>> = processState('algorithms', () => Object.create(null))

/**
 * Makes an algorithm known, for quotas, steps and states of its kernel. A whole one replaces a part, and that of more quotas, which
 * has a take of its own, one without. Returns what a function that builds such quotas returns them by, so that a bundler that drops
 * unused calls keeps this one.
 */
/* @__NO_SIDE_EFFECTS__ */
export function register<Q extends Quota, S extends Step, T extends Taken>(
  kernel: Q['kernel'] & S['kernel'],
  algorithm: Algorithm<Q, S, T>,
): (quota: Q) => Q {
  const known = algorithms[kernel]
  const isLess = known === undefined || known.needsWhole !== undefined || (known.take === undefined && algorithm.take)
  if (isLess) algorithms[kernel] = algorithm as unknown as Algorithm
  return (quota) => quota
}

/** The algorithms that are known in this process. */
export const knownAlgorithms = (): readonly Algorithm[] => Object.values(algorithms)

/** The algorithm of a quota or a step. */
export function algorithmOf({ kernel }: Pick<Quota, 'kernel'>): Algorithm {
  const known = algorithms[kernel]
  if (known !== undefined) return known
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `the algorithm ${formatValue(kernel)} is missing: import a function that builds its quotas.`,
  )
}

/** Runs the kernel that the step names. */
export const runKernel = (state: State | undefined, now: Micros, step: Step): Outcome =>
  algorithmOf(step).kernel.run(state, now, step)

/** The answer of a store to a step, depending on whether its batch was written. */
export const takenOf = (outcome: Outcome, now: Micros, step: Step, written: boolean): Taken =>
  algorithmOf(step).kernel.takenOf(outcome, now, step, written)

/** When a state that `step` has written may be deleted: from then on it equals that of a new key. */
export const emptyAt = (state: State, step: Step): Micros => algorithmOf(step).kernel.emptyAt(state, step)

/** Reduces a verb to a kernel step. `cost` is in units. */
export function stepFor(quota: BucketQuota, verb: Verb, cost: number, stepOptions?: StepOptions): BucketStep
/** Reduces a verb to a kernel step of whatever kernel the quota is for. `cost` is in units, up to 2^53 − 1. */
export function stepFor(quota: Quota, verb: Verb, cost: number, stepOptions?: StepOptions): Step
export function stepFor(quota: Quota, verb: Verb, cost: number, stepOptions: StepOptions = {}): Step {
  // A cost above what the quota ever has never fits. One unit above it never does, either, and all stores can add it exactly.
  const units = needsUnits(verb) ? Math.min(cost, maxUnits(quota) + 1) : cost
  return algorithmOf(quota).stepFor(quota, verb, units, stepOptions)
}

/** Returns what turns the results of a step into decisions. */
export const decider = (policy: string, quota: Quota, cost: number, step: Step): Decide =>
  algorithmOf(quota).decider(policy, quota, cost, step)

/** Turns a store's result into a decision. */
export const decide = (policy: string, quota: Quota, cost: number, step: Step, taken: Taken): Decision =>
  decider(policy, quota, cost, step)(taken)

/** The share of one of several processes. */
export const shareOfQuota = (quota: Quota, replicas: number): Quota =>
  replicas === 1 || quota.limit === 0 ? quota : algorithmOf(quota).divide(quota, replicas)

/** Throws a QuotaError if a value is no quota; `what` names the option or argument in the error. */
export function checkQuota(what: string, value: unknown): void {
  checkConsumable(what, value)
  algorithmOf(value as Quota).needsWhole?.(what)
}

/** The same for what only consumes: a part of the quota's algorithm is enough. */
export function checkConsumable(what: string, value: unknown): void {
  const quota = value as Quota
  const checks = algorithms[(value as Quota | null | undefined)?.kernel as Name]?.checks
  const isComplete = checks?.isComplete(quota) === true
  if (isComplete && checks.agree(quota)) return
  const got = isComplete
    ? `a quota that was changed after it was built: limit ${quota.limit} and window ${quota.window} do not agree. Build another one instead`
    : formatValue(value)
  throw new QuotaError(
    'ERR_SPILLWAY_QUOTA',
    `${what} must be built by perMinute(100) or one of its siblings; got ${got}.`,
  )
}
