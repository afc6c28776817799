import { processState } from '../common/process-state.ts'

/** Receives the policies of each limiter that is built, as its options have them. */
export type OnPolicies = (policies: readonly object[]) => void

const state = processState('on policies', (): { listener?: OnPolicies } => ({}))

/** Sets the listener of this process: a program that loads an application can list its policies. */
export function setOnPolicies(listener: OnPolicies): void {
  state.listener = listener
}

/** Reports the policies of a limiter, if a listener is set. */
export const reportPolicies: OnPolicies = (policies) => state.listener?.(policies)
