import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fakeClock } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ETAG, frameworks, optionsAt, TEXT } from './adapters/apps.ts'

// One story, told to a real server of each framework: whoever asks cannot tell which of them it is.

const TOLD = ['ratelimit-policy', 'ratelimit', 'retry-after', 'content-type']
const POLICY = '"app";q=6;w=60'
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

const story: readonly Row[] = [
  // A burst, down to nothing, by whatever method; a denied request costs nothing.
  [0, 'GET /', undefined, 200, 'r=5;t=10', null, TEXT, 'ok'],
  [0, 'GET /', undefined, 200, 'r=4;t=10', null, TEXT, 'ok'],
  [0, 'POST /', '2', 200, 'r=2;t=10', null, TEXT, 'ok'],
  [0, 'POST /', '3', 429, 'r=2;t=10', '10', PROBLEM, again(10)],
  [0, 'GET /', 'none', 200, 'r=1;t=10', null, TEXT, 'ok'],
  [0, 'HEAD /', undefined, 200, 'r=0;t=10', null, TEXT, ''],
  [0, 'GET /', undefined, 429, 'r=0;t=10', '10', PROBLEM, again(10)],
  [0, 'HEAD /', undefined, 429, 'r=0;t=10', '10', PROBLEM, ''],
  [0, 'POST /', '3', 429, 'r=0;t=30', '30', PROBLEM, again(30)],
  // What can never fit is told so, and is told of no wait.
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
  // A millisecond early, and on time.
  [9_999, 'GET /', undefined, 429, 'r=0;t=1', '1', PROBLEM, again(1, 1)],
  [1, 'GET /', undefined, 200, 'r=0;t=10', null, TEXT, 'ok'],
  // A request that is refused never reaches what would have failed.
  [0, 'GET /fails', undefined, 429, 'r=0;t=10', '10', PROBLEM, again(10)],
  [60_000, 'GET /cached', undefined, 304, 'r=5;t=10', null, null, ''],
]

/** A server of a framework with a clock of its own, and a way to ask it. */
let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function serve(name: string) {
  const clock = fakeClock()
  server = createServer(frameworks[name]?.(optionsAt(clock)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ask = async (request: string, weight?: string) => {
    const [method = '', path = ''] = request.split(' ')
    // Else fetch asks for what is not cached, wherever it names a version.
    const fresh = { 'if-none-match': ETAG, 'cache-control': 'max-age=0' }
    const headers = { ...fresh, ...(weight === undefined ? {} : { 'x-weight': weight }) }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
    const [policy, limit, retry, type] = TOLD.map((name) => response.headers.get(name))
    return { status: response.status, policy, limit, retry, type, body: await response.text() }
  }
  return { clock, ask }
}

describe.each(Object.keys(frameworks))('over a socket, %s', (name) => {
  test('tells the story that all of them tell', async () => {
    const { clock, ask } = await serve(name)
    for (const [afterMs, request, weight, status, limit, retry, type, body] of story) {
      clock.advance(afterMs)
      const told = { status, policy: POLICY, limit: `"app";${limit}`, retry, type, body }
      expect(await ask(request, weight), request).toEqual(told)
    }
  })

  test('tells the quota also where the handler throws', async () => {
    // Hono tells of errors on the console, and knows no way to have it silent.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask } = await serve(name)
    // How an error reads is the framework's own affair.
    expect(await ask('GET /fails')).toMatchObject({ status: 500, policy: POLICY, limit: '"app";r=5;t=10', retry: null })
    expect(await ask('POST /fails')).toMatchObject({ status: 500, limit: '"app";r=4;t=10' })
    // An error that is made once and thrown often says nothing of the request before.
    expect(await ask('GET /shared')).toMatchObject({ status: 500, limit: '"app";r=3;t=10' })
    expect(await ask('GET /shared')).toMatchObject({ status: 500, limit: '"app";r=2;t=10' })
  })
})
