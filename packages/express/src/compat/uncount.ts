import type { Request, Response } from 'express'
import type { Options } from './options.ts'
import type { ExpressRateLimitStore } from './store.ts'

/** Subtracts a request from its key's count if its response turns out not to count. */
export function uncountLater(
  request: Request,
  response: Response,
  { store, key, resetTime }: { store: ExpressRateLimitStore; key: string; resetTime: Date | undefined },
  { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful, logger }: Options,
): void {
  if (!skipFailedRequests && !skipSuccessfulRequests) return
  let uncounted = false
  const uncount = async (): Promise<void> => {
    // The count of a window that has ended is gone.
    if (uncounted || (resetTime && Date.now() >= resetTime.getTime())) return
    uncounted = true
    await store.decrement(key)
  }
  const when = (event: string, counts: () => boolean | Promise<boolean>): void => {
    response.once(event, () => {
      const settle = async (): Promise<void> => {
        if (await counts()) await uncount()
      }
      settle().catch((error) => logger.error(error, `a request could not be subtracted from the count at ${event}.`))
    })
  }
  when('finish', async () =>
    (await requestWasSuccessful(request, response)) ? skipSuccessfulRequests : skipFailedRequests,
  )
  if (!skipFailedRequests) return
  when('close', () => !response.writableEnded)
  when('error', () => true)
}
