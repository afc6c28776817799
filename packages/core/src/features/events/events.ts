import type { Decision } from '../../algorithms/decision.ts'
import { type Channel, diagnosticsChannel, notify } from '../../common/listener.ts'
import type { Logger } from '../../common/warn.ts'

/** A decision as it is reported, to `onDecision` and on the diagnostics channel `spillway:decision`. */
export interface DecisionEvent<R, Name extends string = string> {
  /** A shadow policy is named `NAME (shadow)`; the denial of a key that is blocked by hand, `NAME (blocked)`. */
  readonly decision: Decision<Name | `${Name} (shadow)` | `${Name} (blocked)`>
  /** The key that `decision.policy` counts. */
  readonly key: string
  /** The framework's request. */
  readonly request: R
  /** Whether the decision took effect: that of a shadow policy (`'shadow'`) did not. */
  readonly mode: 'enforce' | 'shadow'
}

/** The channel of decisions; undefined if the runtime has none. */
export const channel: Channel | undefined = /* @__PURE__ */ diagnosticsChannel('spillway:decision')

/** Reports a decision to `onDecision` and to subscribers of the diagnostics channel. */
export type Reporter<R> = (decision: Decision, key: string, request: R, mode: DecisionEvent<R>['mode']) => void

/** Builds a reporter, which does nothing without listeners. A listener that throws does not affect the request. */
export function reporter<R>(listener: ((event: DecisionEvent<R>) => unknown) | undefined, logger: Logger): Reporter<R> {
  return (decision, key, request, mode) => {
    const event = { decision, key, request, mode }
    if (channel?.hasSubscribers) channel.publish(event)
    if (listener) notify('onDecision', listener, event, logger)
  }
}
