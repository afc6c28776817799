// React Router: app/root.tsx

import { perMinute, rateLimit } from '@spillway/fetch'

const limit = rateLimit({ quota: perMinute(100), trustProxy: 1 })

/** `Route.MiddlewareFunction` of React Router. */
export const middleware = [
  ({ request }: { readonly request: Request }, next: () => Promise<Response>): Promise<Response> =>
    limit(() => next())(request),
]
