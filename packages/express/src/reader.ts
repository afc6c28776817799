import { expressQuery, NODE_PARAMETERS, nodeReader, type RequestReader } from '@spillway/core/http'
import type { Request } from 'express'

/** Outside Express, the middleware gets Node's own requests, which have no app. */
const isOfExpress = (req: { readonly app?: unknown }): boolean => req.app !== undefined

export const reader: RequestReader<Request> = {
  ...nodeReader,
  // An address reserved for documentation, more hops away than any proxy.
  trustsEveryProxy: (req) => isOfExpress(req) && req.app.get('trust proxy fn')('192.0.2.1', 64),
  // As the router reads it: the target may also be a whole URL, or end in a fragment.
  path: (req) => (isOfExpress(req) ? req.baseUrl + req.path : nodeReader.path(req)),
  hasEmptyParameters: (req) => !isOfExpress(req),
  query: (req) => (isOfExpress(req) ? expressQuery(req) : nodeReader.query(req)),
  mostParameters: NODE_PARAMETERS,
  peerHint: '; @spillway/express/compat takes the options of express-rate-limit',
}
