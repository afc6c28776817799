import { hidesBody, nodeHeader, queryValues, type RequestReader, whenClosed } from '@spillway/core/http'
import type { Context } from 'koa'

/**
 * The path as routers read it, below the prefix that koa-mount removes. If the target merely ends with it, another
 * mount or a rewriting middleware may have removed more: then there are two readings.
 */
function pathOf(ctx: Context): string | readonly string[] {
  try {
    const { mountPath = '' } = ctx
    const whole = `${mountPath}${ctx.path}`
    if (mountPath === '') return whole
    const original = Reflect.get(ctx.app.request, 'path', { req: { url: ctx.originalUrl } })
    return original?.endsWith(whole) ? [whole, original] : whole
  } catch {
    return ctx.url // an invalid URL
  }
}

export const reader: RequestReader<Context> = {
  address: (ctx) => ctx.ip,
  peer: (ctx) => ctx.req.socket.remoteAddress,
  // Any other header holds one address, which the proxy overwrites.
  trustsEveryProxy: ({ app }) => app.proxy && !app.maxIpsCount && /^x-forwarded-for$/i.test(app.proxyIpHeader),
  method: (ctx) => ctx.method,
  path: pathOf,
  pathInMount: ({ mountPath, path }) => (mountPath ? path : undefined),
  header: (ctx, name) => ctx.get(name) || nodeHeader(ctx.headers, name),
  query: (ctx, name) => queryValues(ctx.query[name]),
  hidesBody: (ctx) => hidesBody(ctx.req),
  identity: (ctx) => ctx.req,
  onClientClosed: (ctx, listener) => whenClosed(ctx.res, listener),
}
