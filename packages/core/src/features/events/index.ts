import { checkFunctions } from '../../common/options.ts'
import { checkNamed } from '../../http/pipeline/check.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { CLOSED, type Draft } from '../../http/pipeline/verdict.ts'
import { channel, type DecisionEvent, reporter } from './events.ts'

/** The option for a listener to decisions. */
export interface EventOptions<R, Name extends string = string> {
  /**
   * Called with every decision, of enforced and of shadow policies.
   * @default none
   */
  readonly onDecision?: (event: DecisionEvent<R, Name>) => void
}

/** The types of its options. */
export interface EventTypes extends OptionTypes {
  readonly limiter: EventOptions<this['request']>
}

/** `onDecision`, and the diagnostics channel `spillway:decision`: each decision is reported. */
export const events: Feature<EventTypes> = { name: 'events', options: ['onDecision'], layers: { verdict } }

function verdict<R, S>(next: Seams<R, S>['verdict']): Seams<R, S>['verdict'] {
  return (policies, setup) => {
    const { onDecision } = setup.options as EventOptions<R>
    checkFunctions(setup.options as EventOptions<R>, ['onDecision'])
    const report = reporter(onDecision, setup.logger)
    const judge = next(policies, setup)
    return (parts, acquisition): Draft<S> => {
      const draft = judge(parts, acquisition)
      if (onDecision === undefined && !channel?.hasSubscribers) return draft
      const { decision } = draft
      if (decision !== undefined && acquisition !== undefined && acquisition !== CLOSED) {
        report(decision, checkNamed(acquisition, decision.policy).key, parts.request, 'enforce')
      }
      return draft
    }
  }
}
