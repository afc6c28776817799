import { perSecond } from '@spillway/core'

/** The units that refill per second. */
export const RATE = 5
/** The units that a client can consume at once. */
export const BURST = 10

const quota = perSecond(RATE, { burst: BURST })

/** The options of all servers: they use nothing of a framework, so one object works for all. */
export const limits = {
  name: 'demo',
  // A quota that depends on the request may be less than `maxCost`: here one request is to cost more than fits.
  quota: () => quota,
  key: 'header:x-client',
  cost: 'header:x-request-weight',
  maxCost: 2 * BURST,
} as const
