import type { ExecutionContext } from '@nestjs/common'
import type { RequestDecision } from '@spillway/core/http'
import { processState } from '@spillway/core/internal'
import { callOf } from './context.ts'

/** The decisions about calls, which all copies of this module in a process share. */
const decisions = (): WeakMap<object, RequestDecision> => processState('nestjs calls', () => new WeakMap())

/** Records the decision about a call. Returns whether another limiter has counted it before. */
export function keepDecision(context: ExecutionContext, decision: RequestDecision | undefined): boolean {
  const call = callOf(context)
  const limited = decisions().has(call)
  if (decision) decisions().set(call, decision)
  return limited
}

/** The decision about a call, the last one if there are several; undefined if the call was not counted. */
export const decisionOf = (context: ExecutionContext): RequestDecision | undefined => decisions().get(callOf(context))
