import { hidesBody, queryValues, type RequestReader, whenClosed } from '@spillway/core/http'
import type { Request, Response } from 'express'

export const reader: RequestReader<Request> = {
  address: (req) => req.ip,
  peer: (req) => req.socket.remoteAddress,
  // An address reserved for documentation, more hops away than any proxy.
  trustsEveryProxy: (req) => req.app.get('trust proxy fn')('192.0.2.1', 64),
  method: (req) => req.method,
  // As the router reads it: the target may also be a whole URL, or end in a fragment.
  path: (req) => req.baseUrl + req.path,
  pathInMount: (req) => (req.baseUrl === '' ? undefined : req.path),
  header: (req, name) => req.get(name),
  query: (req, name) => queryValues(req.query[name]),
  hidesBody,
  responseHeader: (res: Response, name) => res.getHeader(name),
  identity: (req) => req,
  peerHint: '; @spillway/express/compat takes the options of express-rate-limit',
  onClientClosed: (req, listener) => (req.res ? whenClosed(req.res, listener) : () => {}),
}
