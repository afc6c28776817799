import { acquire } from '../../checks/acquisition.ts'
import type { Micros } from '../../common/time.ts'
import type { RequestReader } from '../../http/requests/reader.ts'
import { acquireAtTurn } from '../../limiter/turns.ts'
import { acquireTurn } from '../../limiter/wait.ts'
import type { Acquisition, PolicyCheck } from '../../policies/policy.ts'

/**
 * Delays a request until its units are available, or denies it if that takes longer than the maximum wait. If the
 * client disconnects first, the request leaves the queue, its units are refunded, and the result is undefined.
 */
export async function delayRequest<R>(
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros,
  reader: RequestReader<R>,
  request: R,
): Promise<Acquisition | undefined> {
  const onClientClosed = (leave: () => void): (() => void) => reader.onClientClosed(request, leave)
  if (maxWaitMicros > 0) return acquireTurn(checks, maxWaitMicros, onClientClosed)
  return acquireAtTurn(checks, () => acquire('consume', checks), onClientClosed)
}
