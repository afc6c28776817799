import { type Attributes, trace } from '@opentelemetry/api'
import type { Decision } from '@spillway/core'
import type { DecisionEvent } from '@spillway/core/http'
import { isCounted } from '@spillway/core/internal'
import { bounded, cached, type Instruments } from './instruments.ts'

/** A decision of any framework's limiter. */
export type AnyDecisionEvent = Pick<DecisionEvent<unknown>, 'decision' | 'mode'>

/** Reports whether a decision has numbers of its quota. After a failed lookup, the store has counted as usual. */
const hasNumbers = (decision: Decision): boolean => isCounted(decision) || decision.degraded?.reason === 'lookup'

const outcomeOf = ({ allowed }: Decision): string => (allowed ? 'allowed' : 'denied')

/** Builds the function that records a decision in metrics and on the active span. */
export function decisionRecorder(instruments: () => Instruments): (event: AnyDecisionEvent) => void {
  // Shared, so that all modes, outcomes and metrics have the same policies.
  const name = bounded()
  const byPolicy = cached(name, (policy) => ({ 'spillway.policy': policy }))
  const answers = new Map<string, ReturnType<typeof cached>>()
  const answerOf = (mode: string, decision: Decision): Attributes => {
    const rest = { 'spillway.mode': mode, 'spillway.outcome': outcomeOf(decision) }
    const id = Object.values(rest).join()
    const known = answers.get(id) ?? cached(name, (policy) => ({ 'spillway.policy': policy, ...rest }))
    answers.set(id, known)
    return known(decision.policy)
  }

  const recordAnswer = (mode: AnyDecisionEvent['mode'], decision: Decision): void => {
    const { decisions, remaining, retryAfter, delay } = instruments()
    const policy = byPolicy(decision.policy)
    decisions.add(1, answerOf(mode, decision))
    // A block list has no units: its limit is 0.
    if (decision.limit > 0) remaining.record(decision.remaining / decision.limit, policy)
    // A shadow policy sends no wait, and delays no request.
    if (mode === 'shadow') return
    // Of slots, none is known.
    if (decision.retryAfterMs > 0 && decision.retryAfterMs < Infinity)
      retryAfter.record(decision.retryAfterMs / 1000, policy)
    if (decision.delayMs > 0) delay.record(decision.delayMs / 1000, policy)
  }

  return ({ decision, mode }) => {
    if (decision.degraded) instruments().degraded.add(1, degradedOf(decision.degraded))
    // If nothing has counted, the remaining units are unknown.
    for (const each of decision.policies ?? [decision]) if (hasNumbers(each)) recordAnswer(mode, each)
    if (mode === 'shadow') return
    instruments().requests.add(1, { 'spillway.outcome': outcomeOf(decision) })
    annotateSpan(decision)
  }
}

const degradedOf = ({ reason, action }: NonNullable<Decision['degraded']>): Attributes => ({
  'spillway.degraded.reason': reason,
  'spillway.degraded.action': action,
})

/** Sets the decision on the request's span; adds an event if the request is denied. */
function annotateSpan(decision: Decision): void {
  const span = trace.getActiveSpan()
  if (!span?.isRecording()) return
  const { policy, remaining, limit, cost, retryAfterMs, degraded } = decision
  span.setAttributes({
    'spillway.policy': policy,
    'spillway.outcome': outcomeOf(decision),
    'spillway.limit': limit,
    'spillway.remaining': remaining,
    'spillway.cost': cost,
    ...(degraded && degradedOf(degraded)),
  })
  if (decision.allowed) return
  const wait = retryAfterMs > 0 && retryAfterMs < Infinity ? { 'spillway.retry_after': retryAfterMs / 1000 } : {}
  span.addEvent('spillway.denied', { 'spillway.violated': [...decision.violated], ...wait })
}
