import type { Quota } from '../../algorithms/quota-types.ts'
import { invalidOption } from '../../common/errors.ts'
import { type DenialBuilder, denialBuilder, type ProblemType, problemOf } from '../headers/problem.ts'
import type { Seams } from './seams.ts'

// Problem documents of other denials than those of a quota that is used up.

/** The problem type of a policy's denials: the client has used up its quota, or its request pattern is abnormal. */
export type ProblemOption = 'quota-exceeded' | 'abnormal-usage-detected'

/** The option for the problem type of a policy's denials. */
export interface ProblemOptions {
  /**
   * The problem type of this policy's denials.
   * @default `'quota-exceeded'`; of a `penalty`, `'abnormal-usage-detected'`
   */
  readonly problem?: ProblemOption
}

const ABNORMAL: ProblemType = {
  name: 'abnormal-usage-detected',
  title: 'Request not satisfied due to detection of abnormal request pattern',
  status: 429,
}

const REDUCED_CAPACITY: ProblemType = {
  name: 'temporary-reduced-capacity',
  title: 'Request cannot be satisfied due to temporary server capacity constraints',
  // Not 429: the server does not know whether the client has used up its quota.
  status: 503,
}

/** The layer of features whose denials may have other reasons: patterns of requests, and stores that do not answer. */
export function problemTypes<R, S>(): Seams<R, S>['denial'] {
  return (name, options, quota) =>
    denialBuilder(name, isAbnormal(options as ProblemOptions, quota) ? ABNORMAL : undefined, reducedCapacity)
}

const reducedCapacity: DenialBuilder = (decision, names) => problemOf(REDUCED_CAPACITY, decision, names, NOT_COUNTED)

const NOT_COUNTED = 'The request could not be counted, and is therefore not served for now.'

const isAbnormal = ({ problem }: ProblemOptions, { kernel }: Quota): boolean =>
  problem === undefined ? kernel === 'penalty' : problem === ABNORMAL.name

export function checkProblem(problem: unknown): void {
  if (problem === undefined || problem === 'quota-exceeded' || problem === 'abnormal-usage-detected') return
  throw invalidOption("problem must be 'quota-exceeded' or 'abnormal-usage-detected'", problem)
}
