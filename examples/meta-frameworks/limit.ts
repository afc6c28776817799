// Nuxt 4: server/utils/limit.ts, used in server/middleware/limit.ts: export default defineEventHandler(limitRequest)

import { ipKey, perMinute, rateLimit } from '@spillway/fetch'

/** What Nuxt passes to a handler, as far as it is used. Write `import type { H3Event } from 'h3'`. */
interface H3Event {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly node: {
    readonly req: { readonly socket: { readonly remoteAddress?: string | undefined } }
    readonly res: { appendHeader(name: string, value: string): unknown }
  }
}

const addresses = new WeakMap<Request, string>()
const limit = rateLimit({ quota: perMinute(100), key: (request) => addresses.get(request) })

/** Returns the answer to a denied request; else sets the headers, and the next handler answers. */
export async function limitRequest({ method, path, headers, node }: H3Event): Promise<Response | undefined> {
  // Without the body, which is left to the next handler.
  const request = new Request(`http://localhost${path}`, { method, headers })
  addresses.set(request, ipKey(node.req.socket.remoteAddress ?? ''))
  const answer = await limit(() => new Response())(request)
  if (!answer.ok) return answer
  for (const [name, value] of answer.headers) node.res.appendHeader(name, value)
  return undefined
}
