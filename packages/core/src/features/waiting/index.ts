import { type Duration, type Micros, microsOrZero } from '../../common/time.ts'
import type { CompiledPolicy } from '../../http/pipeline/compiled.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { CLOSED } from '../../http/pipeline/verdict.ts'
import type { RequestReader } from '../../http/requests/reader.ts'
import { acquireAtTurn, type Sender } from '../../limiter/turns.ts'
import { acquireTurn } from '../../limiter/wait.ts'
import type { Acquisition, PolicyCheck } from '../../policies/policy.ts'
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
        ? delayRequest(checks, maxWaitMicros, setup.reader, parts.request).then((known) => known ?? CLOSED)
        : consume(parts, checks)
  }
}

/** Whether requests may wait in a queue: of a quota that is chosen by request, it is not known before. */
const mayQueue = <R, S>({ policy }: CompiledPolicy<R, S>): boolean => policy === undefined || isQueue(policy.quota)

/**
 * Delays a request until its units are available, or denies it if that takes longer than the maximum wait. If the
 * client disconnects first, the request leaves the queue, its units are refunded, and the result is undefined.
 */
async function delayRequest<R>(
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros,
  reader: RequestReader<R>,
  request: R,
): Promise<Acquisition | undefined> {
  const onClientClosed = (leave: () => void): (() => void) => reader.onClientClosed(request, leave)
  if (maxWaitMicros > 0) return acquireTurn(checks, maxWaitMicros, onClientClosed)
  const acquire = async (sender: Sender): Promise<Acquisition> => {
    if (sender.isHeld) await sender.untilFree()
    return sender.send()
  }
  return acquireAtTurn(checks, { acquire, onClientClosed })
}
