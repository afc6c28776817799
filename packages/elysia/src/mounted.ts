import type { AnyElysia } from 'elysia'
import type { RequestContext } from './reader.ts'
import { whenRead } from './sent.ts'

type Mounted = (request: Request) => Response | Promise<Response>

/** The part of a route that is read: Elysia calls `mount` instead of the route's hooks if there is no compilation. */
interface Route {
  readonly store?: { readonly hooks?: { readonly config?: { mount?: Mounted } } }
}

/** The context of a request that has been routed by its path. */
export type Located = RequestContext & { readonly path: string }

/** What hooks have set for the responses of mounted apps. */
const sets = new WeakMap<Request, RequestContext['set']>()
const wrapped = new WeakSet<Mounted>()

/**
 * Without compilation, Elysia sends the response of a mounted app as it is, and reports nothing of it. So the mounted app
 * is wrapped when a request to it comes in: its response gets the headers, as with compilation, and settles the request.
 */
export function wrapMounted(app: AnyElysia, { request, path, set }: Located): void {
  const config = (app.router.dynamic.find('ALL', path) as Route | null)?.store?.hooks?.config
  const mounted = config?.mount
  if (config === undefined || mounted === undefined) return
  sets.set(request, set)
  if (wrapped.has(mounted)) return
  config.mount = async (request) => whenRead(request, withHeaders(await mounted(request), sets.get(request)?.headers))
  wrapped.add(config.mount)
}

function withHeaders(response: Response, fields: RequestContext['set']['headers'] = {}): Response {
  // A copy, because the headers of a redirection are immutable.
  const copy = new Response(response.body, response)
  for (const [name, value] of Object.entries(fields)) if (!copy.headers.has(name)) copy.headers.set(name, String(value))
  return copy
}
