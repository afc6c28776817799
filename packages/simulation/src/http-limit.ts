import { rateLimit } from '@spillway/fetch'

/** The policy that counts requests: its states are not those of the limiter. */
export const HTTP = 'http'

/** The middleware of a process and a store. */
export type HttpLimit = ReturnType<typeof rateLimit<typeof HTTP>>

export const httpLimit = (options: Omit<Parameters<typeof rateLimit>[0], 'quota'> & { quota: unknown }): HttpLimit =>
  rateLimit({
    ...options,
    name: HTTP,
    key: (request: Request) => request.headers.get('x-key'),
    cost: 'header:x-cost',
    refundIf: (status: number) => status >= 500,
  } as Parameters<typeof rateLimit<typeof HTTP>>[0])
