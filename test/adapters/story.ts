import { request } from 'node:http'
import { ETAG, TEXT } from './options.ts'

// One sequence of requests for every server: the responses do not depend on the framework or runtime.

const REPORTED = ['ratelimit-policy', 'ratelimit', 'retry-after', 'content-type']
// Headers of frameworks, runtimes and connections.
const THEIRS = /^(connection|content-length|date|etag|keep-alive|transfer-encoding|vary|x-powered-by)$/
export const POLICY = '"app";q=6;w=60'
const PROBLEM = 'application/problem+json'
const TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded'
const TITLE = 'Request cannot be satisfied as assigned quota has been exceeded'

const problem = (detail: string, wait: number | null): string =>
  JSON.stringify({
    type: TYPE,
    title: TITLE,
    status: 429,
    detail,
    'violated-policies': ['app'],
    'retry-after-ms': wait,
  })
const again = (seconds: number, wait = seconds * 1000): string =>
  problem(`Policy "app" allows this request again in ${seconds} second${seconds === 1 ? '' : 's'}.`, wait)

type Row = readonly [
  afterMs: number,
  request: string,
  weight: string | undefined,
  status: number,
  limit: string,
  retry: string | null,
  type: string | null,
  body: string,
]

const rows: readonly Row[] = [
  // A burst to zero by several methods. A denied request costs nothing.
  [0, 'GET /', undefined, 200, 'r=5;t=10', null, TEXT, 'ok'],
  [0, 'GET /', undefined, 200, 'r=4;t=10', null, TEXT, 'ok'],
  [0, 'POST /', '2', 200, 'r=2;t=10', null, TEXT, 'ok'],
  [0, 'POST /', '3', 429, 'r=2;t=10', '10', PROBLEM, again(10)],
  [0, 'GET /', 'none', 200, 'r=1;t=10', null, TEXT, 'ok'],
  [0, 'HEAD /', undefined, 200, 'r=0;t=10', null, TEXT, ''],
  [0, 'GET /', undefined, 429, 'r=0;t=10', '10', PROBLEM, again(10)],
  [0, 'HEAD /', undefined, 429, 'r=0;t=10', '10', PROBLEM, ''],
  [0, 'POST /', '3', 429, 'r=0;t=30', '30', PROBLEM, again(30)],
  // A cost that never fits is reported without a wait.
  [
    0,
    'GET /',
    '7',
    429,
    'r=0',
    null,
    PROBLEM,
    problem('This request costs 7 units, more than policy "app" ever allows at once.', null),
  ],
  // One millisecond early, and on time.
  [9_999, 'GET /', undefined, 429, 'r=0;t=1', '1', PROBLEM, again(1, 1)],
  [1, 'GET /', undefined, 200, 'r=0;t=10', null, TEXT, 'ok'],
  // A denied request does not reach the failing handler.
  [0, 'GET /fails', undefined, 429, 'r=0;t=10', '10', PROBLEM, again(10)],
  [60_000, 'GET /cached', undefined, 304, 'r=5;t=10', null, null, ''],
]

/** The quota headers and the body of a response. */
export interface Reported {
  readonly status: number
  readonly policy: string | null
  readonly limit: string | null
  readonly retry: string | null
  readonly type: string | null
  readonly body: string
  /** The names of other headers that a limiter may have added. */
  readonly besides: string
}

/** A request of the story: the time since the previous one, and the expected response. */
export interface Scene {
  readonly afterMs: number
  readonly request: string
  readonly weight: string | undefined
  readonly reported: Reported
}

export const story: readonly Scene[] = rows.map(([afterMs, request, weight, status, limit, retry, type, body]) => ({
  afterMs,
  request,
  weight,
  reported: { status, policy: POLICY, limit: `"app";${limit}`, retry, type, body, besides: '' },
}))

/** How a request is sent. */
export interface Way {
  readonly headers?: Readonly<Record<string, string>>
  /** The local address that it comes from. */
  readonly localAddress?: string
}

/** Sends `GET /path`, or another method, and returns the response. */
export function ask(url: string, line: string, { headers = {}, localAddress }: Way = {}): Promise<Reported> {
  const [method = '', path = ''] = line.split(' ')
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, url),
      { method, localAddress, headers: { 'if-none-match': ETAG, ...headers } },
      (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (text: string) => (body += text))
        response.on('error', reject)
        response.on('end', () => {
          const [policy, limit, retry, type] = REPORTED.map(
            (name) => (response.headers[name] as string | undefined) ?? null,
          )
          const besides = Object.keys(response.headers).filter((name) => !REPORTED.includes(name) && !THEIRS.test(name))
          const reported = {
            status: response.statusCode ?? 0,
            policy,
            limit,
            retry,
            type,
            body,
            besides: besides.join(),
          }
          resolve(reported as Reported)
        })
      },
    )
    sent.on('error', reject).end()
  })
}
