import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import * as forElysia from '@spillway/elysia'
import * as forH3 from '@spillway/h3'
import * as forH31 from '@spillway/h3/v1'
import { Elysia } from 'elysia'
import { H3, toNodeHandler } from 'h3'
import { createApp, createRouter, eventHandler, toNodeListener } from 'h3-1'
import { ETAG, type Options, TEXT } from './options.ts'

/** The app of the story in frameworks that do not run in every runtime of the table in the README. */
export const moreFrameworks: Record<string, (options: Options) => RequestListener> = {
  h3: (options) => {
    const shared = new Error('the same each time')
    const app = new H3({ silent: true })
    app.use(forH3.rateLimit(options))
    app.all('/', () => new Response('ok', { headers: { 'content-type': TEXT } }))
    app.all('/fails', () => {
      throw new Error('no')
    })
    app.all('/shared', () => {
      throw shared
    })
    app.all('/cached', ({ req }) =>
      req.headers.get('if-none-match') === ETAG
        ? new Response(null, { status: 304, headers: { etag: ETAG } })
        : new Response('ok', { headers: { etag: ETAG } }),
    )
    return toNodeHandler(app) as RequestListener
  },
  'h3 1': (options) => {
    const shared = new Error('the same each time')
    const fails = (error: Error) =>
      eventHandler(() => {
        throw error
      })
    const ok = eventHandler(() => new Response('ok', { headers: { 'content-type': TEXT } }))
    const cached = eventHandler(({ node: { req } }) =>
      req.headers['if-none-match'] === ETAG
        ? new Response(null, { status: 304, headers: { etag: ETAG } })
        : new Response('ok', { headers: { etag: ETAG } }),
    )
    const router = createRouter().use('/', ok).use('/cached', cached)
    router.use('/fails', fails(new Error('no'))).use('/shared', fails(shared))
    return toNodeListener(createApp().use(forH31.rateLimit(options)).use(router))
  },
  Elysia: (options) => {
    const shared = new Error('the same each time')
    const app = new Elysia()
    // This server is not Elysia's own: it passes the connection beside the request.
    app.use(forElysia.rateLimit({ ...options, key: () => 'ann' }))
    app.all('/', () => new Response('ok', { headers: { 'content-type': TEXT } }))
    app.all('/fails', () => {
      throw new Error('no')
    })
    app.all('/shared', () => {
      throw shared
    })
    app.all('/cached', ({ request }) =>
      request.headers.get('if-none-match') === ETAG
        ? new Response(null, { status: 304, headers: { etag: ETAG } })
        : new Response('ok', { headers: { etag: ETAG } }),
    )
    return getRequestListener((request) => app.handle(request), { overrideGlobalObjects: false })
  },
}
