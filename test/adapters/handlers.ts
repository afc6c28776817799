import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import { Hono } from 'hono'
import { ETAG, type Options, TEXT } from './options.ts'

/** A request handler. Further arguments of the runtime follow the request. */
export type Handler = (request: Request, ...rest: unknown[]) => Response | Promise<Response>

/** The app of the story for frameworks with `Request` and `Response`. */
export const handlers: Record<string, (options: Options) => Handler> = {
  Hono: (options) => {
    const shared = new Error('the same each time')
    const app = new Hono()
    app.use(forHono.rateLimit(options))
    app.all('/', (c) => c.body('ok', 200, { 'content-type': TEXT }))
    app.all('/fails', () => {
      throw new Error('no')
    })
    app.all('/shared', () => {
      throw shared
    })
    app.all('/cached', (c) =>
      c.req.header('if-none-match') === ETAG ? c.body(null, 304, { etag: ETAG }) : c.body('ok', 200, { etag: ETAG }),
    )
    return (request, ...rest) => app.fetch(request, ...(rest as [object]))
  },
  fetch: (options) => {
    const answer = (request: Request): Response => {
      const { pathname } = new URL(request.url)
      const cached = pathname === '/cached' && request.headers.get('if-none-match') === ETAG
      if (cached) return new Response(null, { status: 304, headers: { etag: ETAG } })
      return pathname === '/'
        ? new Response('ok', { headers: { 'content-type': TEXT } })
        : new Response('no', { status: 500 })
    }
    return forFetch.rateLimit(options)(answer)
  },
}
