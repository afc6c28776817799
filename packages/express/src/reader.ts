import {
  expressQuery,
  NODE_PARAMETERS,
  nodeListeningReader,
  nodePlainReader,
  nodeRouteReader,
  type PlainReader,
  type RequestReader,
  type RouteReader,
  TRUSTS_EVERY_PROXY,
} from '@spillway/core/http'
import type { Request } from 'express'

/** Outside Express, the middleware gets Node's own requests, which have no app. */
const isOfExpress = (req: { readonly app?: unknown }): boolean => req.app !== undefined

/** What every limiter reads of a request. */
export const plainReader: PlainReader<Request> = /* @__PURE__ */ Object.assign({}, nodePlainReader, {
  // An address reserved for documentation, more hops away than any proxy.
  proxyWarning: (req: Request) =>
    isOfExpress(req) && req.app.get('trust proxy fn')('192.0.2.1', 64) && TRUSTS_EVERY_PROXY,
})

/** What selectors and matches read of a request. */
export const routeReader: RouteReader<Request> = /* @__PURE__ */ Object.assign({}, nodeRouteReader, {
  // As the router reads it: the target may also be a whole URL, or end in a fragment.
  path: (req: Request) => (isOfExpress(req) ? req.baseUrl + req.path : nodeRouteReader.path(req)),
  hasEmptyParameters: (req: Request) => !isOfExpress(req),
  query: (req: Request) => (isOfExpress(req) ? expressQuery(req) : nodeRouteReader.query(req)),
  mostParameters: NODE_PARAMETERS,
})

export const reader: RequestReader<Request> = /* @__PURE__ */ Object.assign(
  {},
  plainReader,
  routeReader,
  nodeListeningReader,
  {
    peerHint: '; @spillway/express/compat takes the options of express-rate-limit',
  },
)
