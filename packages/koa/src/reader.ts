import { firstValue, hidesBody, type RequestReader, whenClosed } from '@spillway/core/http'
import type { Context } from 'koa'

/**
 * The path as routers read it, behind the prefix that koa-mount has taken from it. If the whole is the end of what came
 * in, more may have been taken from it: by another mount, or by middleware that rewrites it.
 */
function pathOf(ctx: Context): string | readonly string[] {
  try {
    const { mountPath = '' } = ctx
    const whole = `${mountPath}${ctx.path}`
    if (mountPath === '') return whole
    const original = Reflect.get(ctx.app.request, 'path', { req: { url: ctx.originalUrl } })
    return original?.endsWith(whole) ? [whole, original] : whole
  } catch {
    return ctx.url // a URL that nobody can read
  }
}

export const reader: RequestReader<Context> = {
  address: (ctx) => ctx.ip,
  peer: (ctx) => ctx.req.socket.remoteAddress,
  // Another header is one that holds the one address, and that the proxy overwrites.
  trustsEveryProxy: ({ app }) => app.proxy && !app.maxIpsCount && /^x-forwarded-for$/i.test(app.proxyIpHeader),
  method: (ctx) => ctx.method,
  path: pathOf,
  header: (ctx, name) => ctx.get(name) || undefined,
  query: (ctx, name) => firstValue(ctx.query[name]),
  hidesBody: (ctx) => hidesBody(ctx.req),
  identity: (ctx) => ctx.req,
  onGone: (ctx, listener) => whenClosed(ctx.res, listener),
}
