import { acquire } from '../acquisition.ts'
import type { PolicyCheck } from '../policy.ts'
import type { Acquisition } from '../store-result.ts'
import type { Micros } from '../time.ts'
import { waitForTurn } from '../turns.ts'
import { acquireTurn } from '../wait.ts'
import type { RequestReader } from './reader.ts'

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
  const acquisition = await acquire('consume', checks)
  const { allowed, delayMs } = acquisition.decision
  return allowed && delayMs > 0 ? waitForTurn(acquisition, onClientClosed) : acquisition
}
