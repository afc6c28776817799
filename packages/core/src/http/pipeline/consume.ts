import { copyOf } from '../../kernels/kernel.ts'
import type { PreparedStep } from '../../policies/consume-steps.ts'
import type { Acquisition } from '../../policies/policy.ts'
import { configOf } from '../../policies/policy.ts'
import type { PreparingStore } from '../../stores/store.ts'
import type { RequestParts } from '../requests/parts.ts'
import type { HttpCheck } from './compiled.ts'

/** Consumes the units of one check, of a store that prepares takes. */
export function consumeOne<R, S>(_: RequestParts<R>, checks: readonly HttpCheck<R, S>[]): Acquisition | undefined {
  const [check] = checks
  if (check === undefined) return undefined
  const { policy, key, cost } = check
  const { take, decide } = policy.steps.costing(cost) as PreparedStep
  const taken = take.take(key, (configOf(checks).store as PreparingStore).clock())
  return { checks, decision: decide(taken), results: [{ checks, decisions: [], taken: [copyOf(taken)] }] }
}
