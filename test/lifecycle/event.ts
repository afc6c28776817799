/** The event of AWS Lambda for `GET /`. */
export const EVENT = {
  version: '2.0',
  rawPath: '/',
  rawQueryString: '',
  headers: { host: 'host' },
  requestContext: { http: { method: 'GET', path: '/', sourceIp: '192.0.2.1' }, stage: '$default' },
  isBase64Encoded: false,
}

/** What a request reserves, and what it has used in the end. */
export const RESERVED = 5
export const USED = 1

export type Framework =
  | 'Express'
  | 'Koa'
  | 'Node'
  | 'Hono'
  | 'Hono on Workers'
  | 'fetch on Netlify'
  | 'fetch on Workers'

/** What a function waits for between its response and the freeze. */
export type Waits = 'settled' | 'waitUntil' | 'nothing'
