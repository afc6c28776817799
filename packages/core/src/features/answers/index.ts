import { failing } from '../../common/maybe-promise.ts'
import { checkFunctions } from '../../common/options.ts'
import { checkNamed } from '../../http/pipeline/check.ts'
import type { CompiledPolicy } from '../../http/pipeline/compiled.ts'
import { checkProblem, type ProblemOptions, problemTypes } from '../../http/pipeline/problem-types.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { CLOSED, type Draft } from '../../http/pipeline/verdict.ts'
import { answerOf, type DeniedOption, type OnDeniedOptions } from './denied.ts'

/** A policy that answers its denials by itself. */
interface AnsweringPolicy<R, S> extends CompiledPolicy<R, S> {
  readonly onDenied?: DeniedOption<R> | undefined
}

/** The types of its options. */
export interface AnswerTypes extends OptionTypes {
  readonly limiter: OnDeniedOptions<this['request'], this['answer']>
  readonly policy: OnDeniedOptions<this['request'], this['answer']> & ProblemOptions
}

/** `onDenied` and `problem`: how denied requests are answered. */
export const answers: Feature<AnswerTypes> = {
  name: 'answers',
  options: ['onDenied'],
  policyOptions: ['problem', 'onDenied'],
  layers: { options, policy, denial: problemTypes, verdict },
}

function options<R, S>(next: Seams<R, S>['options']): Seams<R, S>['options'] {
  return (given, names, hint) => {
    const checked = next(given, names, hint)
    checkFunctions(checked as OnDeniedOptions<R>, ['onDenied'])
    return checked
  }
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const { onDenied } = options as OnDeniedOptions<R>
    checkFunctions(options as OnDeniedOptions<R>, ['onDenied'])
    checkProblem((options as ProblemOptions).problem)
    const compiled: AnsweringPolicy<R, S> = next(options, building)
    if (onDenied === undefined) return compiled
    const answering: AnsweringPolicy<R, S> = { ...compiled, onDenied }
    return answering
  }
}

function verdict<R, S>(next: Seams<R, S>['verdict']): Seams<R, S>['verdict'] {
  return (policies, setup) => {
    const judge = next(policies, setup)
    const { onDenied } = setup.options as OnDeniedOptions<R>
    if (onDenied === undefined && !policies.some((each: AnsweringPolicy<R, S>) => each.onDenied)) return judge
    const { reader } = setup
    const answer = failing(answerOf<R, unknown>)
    return (parts, acquisition): Draft<S> => {
      const draft = judge(parts, acquisition)
      const { decision, denial } = draft
      if (decision === undefined || denial === undefined || acquisition === undefined || acquisition === CLOSED)
        return draft
      const { compiled } = checkNamed<R, S>(acquisition, decision.policy)
      const option = (compiled as AnsweringPolicy<R, S>).onDenied ?? onDenied
      if (option) draft.answer = (response) => answer(option, parts.request, decision, response, denial, reader)
      return draft
    }
  }
}
