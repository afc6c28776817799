import { unlessLeft } from '../leaving.ts'
import type { RequestReader } from './reader.ts'

/** Waits for a promise while the client is connected; undefined if it disconnects first. */
export function whileConnected<R, T>(
  reader: RequestReader<R>,
  request: R,
  promise: Promise<T>,
): Promise<T | undefined> {
  return unlessLeft(promise, (leave) => reader.onGone(request, leave))
}
