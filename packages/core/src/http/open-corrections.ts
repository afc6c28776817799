import { setLongTimeout } from '../long-timeout.ts'
import { processState } from '../process-state.ts'

const openCorrections = (): Set<Promise<unknown>> => processState('open corrections', () => new Set())

/** Remembers the correction of a request's cost until it ends. */
export function untilEnded<T>(correction: Promise<T>): Promise<T> {
  const open = openCorrections()
  open.add(correction)
  const end = (): void => void open.delete(correction)
  correction.then(end, end)
  return correction
}

/**
 * Resolves when the costs of all requests whose responses are over have been corrected by `settle`, `refundIf` or `countIf`, in
 * all limiters of this process. Call it when the server is closed, before the store's client is: a server calls back before
 * the correction of its last response is sent.
 */
export async function settled(): Promise<void> {
  // A server also calls back before the responses whose clients have disconnected are reported as over.
  await new Promise<void>((resolve) => setLongTimeout(0, resolve))
  const open = openCorrections()
  while (open.size > 0) await Promise.allSettled(open)
}
