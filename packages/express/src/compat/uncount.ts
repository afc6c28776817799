import type { Request, Response } from 'express'
import type { Options } from './options.ts'
import type { ExpressRateLimitStore } from './store.ts'

/** A request that was counted. */
interface CountedRequest {
  readonly store: ExpressRateLimitStore
  readonly key: string
  readonly resetTime: Date | undefined
}

/**
 * Returns a function that subtracts a counted request from its key's count if its response turns out not to count. The
 * response is observed from now on: its client may leave before the store has counted.
 */
export function uncounter(
  request: Request,
  response: Response,
  { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful, logger }: Options,
): (counted: CountedRequest) => void {
  if (!skipFailedRequests && !skipSuccessfulRequests) return () => {}
  const event = (name: string): Promise<void> => new Promise((resolve) => void response.once(name, () => resolve()))
  const [finished, closed, failed] = [event('finish'), event('close'), event('error')]
  return ({ store, key, resetTime }) => {
    let uncounted = false
    const uncount = async (): Promise<void> => {
      // The count of a window that has ended is gone.
      if (uncounted || (resetTime && Date.now() >= resetTime.getTime())) return
      uncounted = true
      await store.decrement(key)
    }
    const when = (happened: Promise<void>, skips: () => boolean | Promise<boolean>): void => {
      const settle = async (): Promise<void> => {
        await happened
        if (await skips()) await uncount()
      }
      settle().catch((error) => logger.error(error, 'a request could not be subtracted from the count.'))
    }
    when(finished, async () =>
      (await requestWasSuccessful(request, response)) ? skipSuccessfulRequests : skipFailedRequests,
    )
    if (!skipFailedRequests) return
    when(closed, () => !response.writableEnded)
    when(failed, () => true)
  }
}
