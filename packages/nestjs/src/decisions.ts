import type { ExecutionContext } from '@nestjs/common'
import type { RequestDecision } from '@spillway/core/http'
import { processState } from '@spillway/core/internal'
import { callOf, identifyMessage } from './context.ts'

/** The decisions about calls, which all copies of this module in a process share. */
const decisions = (): WeakMap<object, RequestDecision> => processState('nestjs calls', () => new WeakMap())

/** Records the decision about a call. Returns whether another limiter has counted it before. */
export function keepDecision(context: ExecutionContext, decision: RequestDecision | undefined): boolean {
  const known = callOf(context)
  const limited = known !== undefined && decisions().has(known)
  if (decision === undefined) return limited
  const call = known ?? identifyMessage(context)
  if (call !== undefined) decisions().set(call, decision)
  return limited
}

/** The decision about a call, the last one if there are several; undefined if the call was not counted. */
export const decisionOf = (context: ExecutionContext): RequestDecision | undefined => {
  const call = callOf(context)
  return call && decisions().get(call)
}
