import { type Duration, microsOrZero } from '../../common/time.ts'
import type { CompiledPolicy } from '../../http/pipeline/compiled.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { CLOSED } from '../../http/pipeline/verdict.ts'
import { acquireTurn } from '../../limiter/wait.ts'
import { isQueue, isQueued } from '../../policies/policy-of.ts'
import { stores } from '../stores/index.ts'

/** The option for requests that wait. */
export interface WaitingOptions {
  /**
   * How long a request may be delayed until its units are available. A request that would wait longer is denied at
   * once.
   * @default `0`, no delay
   */
  readonly maxWait?: Duration
}

/** The types of its options. */
export interface WaitingTypes extends OptionTypes {
  readonly limiter: WaitingOptions
}

/** `maxWait`, and quotas with a queue: requests wait for their turn. */
export const waiting: Feature<WaitingTypes> = {
  name: 'waiting',
  options: ['maxWait'],
  needs: [stores],
  layers: { enforce },
}

function enforce<R, S>(next: Seams<R, S>['enforce']): Seams<R, S>['enforce'] {
  return (policies, setup) => {
    const maxWaitMicros = microsOrZero((setup.options as WaitingOptions).maxWait ?? 0, 'maxWait')
    const consume = next(policies, setup)
    if (maxWaitMicros === 0 && !policies.some(mayQueue)) return consume
    return (parts, checks) =>
      checks.length > 0 && (maxWaitMicros > 0 || checks.some(isQueued))
        ? acquireTurn(checks, maxWaitMicros || undefined, (leave) =>
            setup.reader.onClientClosed(parts.request, leave),
          ).then((known) => known ?? CLOSED)
        : consume(parts, checks)
  }
}

/** Whether requests may wait in a queue: of a quota that is chosen by request, it is not known before. */
const mayQueue = <R, S>({ policy }: CompiledPolicy<R, S>): boolean => policy === undefined || isQueue(policy.quota)
