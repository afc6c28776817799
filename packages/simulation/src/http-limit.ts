import type { Quota } from '@spillway/core'
import { rateLimit } from '@spillway/fetch'

/** The policy that counts requests: its states are not those of the limiter. */
export const HTTP = 'http'

/** The middleware of a process and a store. */
export type HttpLimit = ReturnType<typeof rateLimit<typeof HTTP>>

type HttpLimitOptions = Parameters<typeof rateLimit<typeof HTTP>>[0]

/** The policy that counts requests. */
export const httpPolicy = (quota: Quota): Parameters<HttpLimit['replace']>[0][number] => ({
  name: HTTP,
  quota,
  key: (request) => request.headers.get('x-key') ?? undefined,
  cost: 'header:x-cost',
})

export const httpLimit = (quota: Quota, options: object): HttpLimit =>
  rateLimit({
    ...options,
    ...httpPolicy(quota),
    refundIf: (status: number) => status >= 500,
  } as HttpLimitOptions)
