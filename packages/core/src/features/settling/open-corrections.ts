import { setLongTimeout } from '../../common/long-timeout.ts'
import { processState } from '../../common/process-state.ts'
import type { Micros } from '../../common/time.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { deadlineIn, unlessExpired } from '../../remote/deadline.ts'

/** How long `settled` waits: a function of the options may return a promise that never settles. */
const LONGEST_WAIT: Micros = 10e6

/** The corrections that have not ended, each with the logger of its limiter. */
const openCorrections = (): Map<Promise<unknown>, Logger> => processState('open corrections', () => new Map())

/** Remembers the correction of a request's cost until it ends. */
export function untilEnded<T>(correction: Promise<T>, logger: Logger): Promise<T> {
  const open = openCorrections()
  open.set(correction, logger)
  const end = (): void => void open.delete(correction)
  correction.then(end, end)
  return correction
}

/**
 * Resolves when the costs of all requests whose responses are over have been corrected by `settle`, `refundIf` or `countIf`, in
 * all limiters of this process, or after 10 seconds with a warning. Call it when the server is closed, before the store's
 * client is: a server calls back before the correction of its last response is sent.
 */
export async function settled(): Promise<void> {
  // A server also calls back before the responses whose clients have disconnected are reported as over.
  await new Promise<void>((resolve) => setLongTimeout(0, resolve))
  const open = openCorrections()
  const allEnded = async (): Promise<void> => {
    while (open.size > 0) await Promise.allSettled(open.keys())
  }
  await unlessExpired(allEnded(), deadlineIn(LONGEST_WAIT))
  for (const logger of open.values()) {
    warnOnce(
      logger,
      'WARN_SPILLWAY_SETTLE',
      'the cost of a request could not be corrected: ',
      'a promise of settle, refundIf or countIf has not settled for 10 s.',
    )
  }
  open.clear()
}
