import { waitUnlessClosed } from '../../common/client-closed.ts'
import type { RequestReader } from './reader.ts'

/** Waits for a promise while the client is connected; undefined if it disconnects first. */
export function whileConnected<R, T>(
  reader: RequestReader<R>,
  request: R,
  promise: Promise<T>,
): Promise<T | undefined> {
  return waitUnlessClosed(promise, (leave) => reader.onClientClosed(request, leave))
}
