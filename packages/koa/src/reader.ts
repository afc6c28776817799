import {
  hidesBody,
  isOver,
  NODE_PARAMETERS,
  nodeHeader,
  type PlainReader,
  type RequestReader,
  type RouteReader,
  sentHeader,
  TRUSTS_EVERY_PROXY,
  whenClosed,
} from '@spillway/core/http'
import type { Context } from 'koa'

/**
 * The path as routers read it, with the prefix that koa-mount removes. koa-mount restores the path for what follows the mount,
 * but never `mountPath`: a path that contains it may already be whole, and is if it was requested. If the requested path merely
 * ends with a reading, another mount or a rewriting middleware may have removed more: then it is a reading, too.
 */
function pathOf(ctx: Context): readonly string[] {
  const { mountPath = '' } = ctx
  const path = attempt(() => `${ctx.path}`) ?? ctx.url
  if (mountPath === '') return [path]
  const requested = requestedPath(ctx)
  if (path === requested && path.startsWith(mountPath)) return [path]
  const readings = [`${mountPath}${path}`]
  if (path.includes(mountPath)) readings.push(path)
  if (requested !== undefined && readings.some((each) => requested.endsWith(each))) readings.push(requested)
  return readings
}

/** The path of the target, before anything has rewritten it. */
const requestedPath = ({ app, originalUrl }: Context): string | undefined =>
  attempt(() => Reflect.get(app.request, 'path', { req: { url: originalUrl } }))

/** If mounts have only removed a part of the requested path, it is the whole path. */
function wholePathOf(ctx: Context): readonly string[] {
  const path = pathOf(ctx)
  const requested = path.length > 1 ? requestedPath(ctx) : undefined
  return requested !== undefined && path.includes(requested) ? [requested] : path
}

/** The readings of the query. Koa 3 takes no notice of a second question mark. Its own parser takes time quadratic in the query. */
function queriesOf(ctx: Context): readonly string[] {
  const text = attempt(() => ctx.querystring) ?? ''
  return text.startsWith('?') ? [text, text.slice(1)] : [text]
}

/** The part that a function reads; undefined if the URL is invalid, or has none. */
function attempt(read: () => string | null): string | undefined {
  try {
    return read() ?? undefined
  } catch {
    return undefined
  }
}

/** What every limiter reads of a request. */
export const plainReader: PlainReader<Context> = {
  // Koa has an empty text for no address.
  address: (ctx) => ctx.ip || undefined,
  peer: (ctx) => ctx.req.socket.remoteAddress,
  // Any other header holds one address, which the proxy overwrites.
  proxyWarning: ({ app }) =>
    app.proxy && !app.maxIpsCount && /^x-forwarded-for$/i.test(app.proxyIpHeader) && TRUSTS_EVERY_PROXY,
  method: (ctx) => ctx.method,
  header: (ctx, name) => ctx.get(name) || nodeHeader(ctx.headers, name),
  hidesBody: (ctx) => hidesBody(ctx.req),
  responseHeader: (ctx: Context, name) => sentHeader(ctx.res, name),
  identity: (ctx) => ctx.req,
  isOver,
}

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<Context> = {
  path: pathOf,
  wholePath: wholePathOf,
  pathInMount: ({ mountPath, path }) => (mountPath ? path : undefined),
  query: queriesOf,
  mostParameters: NODE_PARAMETERS,
}

/** How a request that waits learns that its client has disconnected. */
export const listeningReader: Pick<RequestReader<Context>, 'onClientClosed'> = {
  onClientClosed: (ctx, listener) => whenClosed(ctx.res, listener),
}

export const reader: RequestReader<Context> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  listeningReader,
)
