// Astro: src/middleware.ts

import { ipKey, perMinute, rateLimit } from '@spillway/fetch'

/** What Astro passes, as far as it is used. Write `defineMiddleware` of `astro:middleware`. */
interface Context {
  readonly request: Request
  readonly clientAddress: string
}

const addresses = new WeakMap<Request, string>()
const limit = rateLimit({ quota: perMinute(100), key: (request) => addresses.get(request) })

export function onRequest({ request, clientAddress }: Context, next: () => Promise<Response>): Promise<Response> {
  addresses.set(request, ipKey(clientAddress))
  return limit(() => next())(request)
}
