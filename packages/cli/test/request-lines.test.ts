import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../src/log/entry.ts'
import { openSource } from '../src/log/file.ts'
import { lineReader } from '../src/log/formats.ts'
import { type ReadOptions, readLogs } from '../src/log/read.ts'
import { bucket, entriesIn, folderOf, spillway } from './terminal.ts'

// A log of pino has several lines for one request, and lines for none. Each line used to count as a request.

const START = Date.UTC(2026, 0, 5)
type Json = Readonly<Record<string, unknown>>

async function read(lines: readonly Json[], options: ReadOptions = {}) {
  const entries: { entry: Entry; line: number }[] = []
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const source = await openSource('-', Readable.from([Buffer.from(text)]))
  const reading = await readLogs([source], (entry, _, line) => entries.push({ entry, line }), options)
  return { reading, entries }
}
/** What counts of a log: the number of the line, the address, the path and the status of each request. */
const countedIn = async (lines: readonly Json[], options?: ReadOptions) =>
  (await read(lines, options)).entries.map(({ entry, line }) => [line, entry.address, entry.target, entry.status])

let clock = START
const pino = (more: Json): Json => ({ level: 30, time: clock++, pid: 7, hostname: 'web', ...more })
const reqOf = (id: unknown, url = '/a', port = 1): Json => ({
  ...(id === undefined ? {} : { id }),
  method: 'GET',
  url,
  headers: { host: 'x' },
  remoteAddress: '192.0.2.1',
  remotePort: port,
})

describe('pino-http', () => {
  const app = (id: number, msg: string, more: Json = {}) => pino({ req: reqOf(id), ...more, msg })
  const completed = (id: number, statusCode: number | null = 200) =>
    pino({ req: reqOf(id), res: { statusCode, headers: {} }, responseTime: 2, msg: 'request completed' })

  test('counts the line of the response, and no other line of the request', async () => {
    const log = [
      pino({ msg: 'listening' }),
      app(1, 'loading user'),
      app(2, 'loading user', { status: 200 }),
      app(1, 'rendering'),
      completed(1),
      app(1, 'sent mail'),
      completed(2, 404),
      completed(3, null),
    ]
    expect(await countedIn(log)).toEqual([
      [5, '192.0.2.1', '/a', 200],
      [7, '192.0.2.1', '/a', 404],
      [8, '192.0.2.1', '/a', undefined],
    ])
    expect((await read(log)).reading).toMatchObject({ lines: 8, entries: 3, skipped: 5 })
  })

  test('may have many messages before the first response', async () => {
    const messages = Array.from({ length: 1_500 }, (_, i) => app(i % 3, 'working'))
    expect(await countedIn([...messages, completed(0), completed(1), app(1, 'sent mail'), completed(2)])).toHaveLength(
      3,
    )
  })

  test('with quietReqLogger has the same requests', async () => {
    const log = [
      pino({ reqId: 1, msg: 'loading user' }),
      pino({ reqId: 1, req: reqOf(1), res: { statusCode: 200 }, responseTime: 2, msg: 'request completed' }),
    ]
    expect(await countedIn(log)).toEqual([[2, '192.0.2.1', '/a', 200]])
  })

  test('with quietResLogger has the status in another line', async () => {
    const line = (msg: string) => pino({ reqId: 1, req: reqOf(1), msg })
    const log = [line('query'), line('query'), pino({ reqId: 1, res: { statusCode: 401 }, responseTime: 2 })]
    expect(await countedIn(log)).toEqual([[1, '192.0.2.1', '/a', 401]])
  })
})

describe('Fastify', () => {
  const incoming = (id: string, url = '/a', port = 1, more: Json = {}) =>
    pino({ reqId: id, req: reqOf(undefined, url, port), msg: 'incoming request', ...more })
  const completed = (id: string, statusCode = 200, more: Json = {}) =>
    pino({ reqId: id, res: { statusCode }, responseTime: 1.1, msg: 'request completed', ...more })

  test('counts the line of the request, with the status of the response', async () => {
    const log = [
      pino({ msg: 'Server listening at http://127.0.0.1:3000' }),
      incoming('req-1', '/a'),
      incoming('req-2', '/b', 2),
      pino({ reqId: 'req-1', msg: 'loading user' }),
      pino({ reqId: 'req-1', url: 'http://backend/', msg: 'fetch' }),
      pino({ reqId: 'req-1', req: reqOf(undefined), msg: 'the request, logged again' }),
      completed('req-2', 401),
      // What Fastify logs for an error, before the response.
      pino({ reqId: 'req-1', req: reqOf(undefined), res: { statusCode: 500 }, err: {}, msg: 'failed' }),
      completed('req-1', 500),
      incoming('req-3', '/c'),
      pino({ reqId: 'req-3', res: { statusCode: 400 }, err: {}, msg: 'invalid' }),
      completed('req-3', 400),
    ]
    expect(await countedIn(log)).toEqual([
      [2, '192.0.2.1', '/a', 500],
      [3, '192.0.2.1', '/b', 401],
      [10, '192.0.2.1', '/c', 400],
    ])
    const { reading, entries } = await read(log)
    expect(entries.map(({ entry }) => entry.at / 1000)).toEqual([1, 2, 9].map((i) => log[i]?.time))
    expect(reading).toMatchObject({ lines: 12, entries: 3, skipped: 9, late: { count: 0 } })
  })

  test('counts a request whose response is not in the log, and no response whose request is not', async () => {
    const failed = pino({ reqId: 'req-9', req: reqOf(undefined), res: { statusCode: 500 }, err: {}, msg: 'failed' })
    const log = [
      completed('req-8'),
      failed,
      completed('req-9'),
      incoming('req-1'),
      incoming('req-2'),
      completed('req-2'),
    ]
    expect(await countedIn(log)).toEqual([
      [4, '192.0.2.1', '/a', undefined],
      [5, '192.0.2.1', '/a', 200],
    ])
    expect(await countedIn([incoming('req-1')])).toEqual([[1, '192.0.2.1', '/a', undefined]])
  })

  test('may have one id for several requests: of several processes, or chosen by clients', async () => {
    const other = { pid: 8 }
    const log = [
      incoming('req-1', '/a'),
      incoming('req-1', '/b', 1, other),
      completed('req-1', 201, other),
      completed('req-1', 202),
      incoming('x', '/c', 1),
      incoming('x', '/d', 2),
      completed('x'),
      completed('x'),
    ]
    expect((await countedIn(log)).map(([, , path, status]) => [path, status])).toEqual([
      ['/a', 202],
      ['/b', 201],
      ['/c', 200],
      ['/d', 200],
    ])
  })

  test('may name the id otherwise: the requests count without their status', async () => {
    const log = [
      pino({ traceId: 1, req: reqOf(undefined), msg: 'incoming request' }),
      pino({ traceId: 1, msg: 'loading user' }),
      pino({ traceId: 1, res: { statusCode: 401 }, responseTime: 1 }),
    ]
    expect(await countedIn(log)).toEqual([[1, '192.0.2.1', '/a', undefined]])
  })

  test('is read in bounded memory: a response that comes much later is not awaited', async () => {
    const others = Array.from({ length: 1_500 }, (_, i) => [incoming(`r${i}`, '/b', 2), completed(`r${i}`)]).flat()
    const counted = await countedIn([incoming('slow', '/slow'), ...others, completed('slow', 401)])
    expect(counted).toHaveLength(1_501)
    expect(counted[0]).toEqual([1, '192.0.2.1', '/slow', undefined])
    expect(counted.slice(1).every(([, , path, status]) => path === '/b' && status === 200)).toBe(true)
  })

  test('may reuse an id whose first request is not awaited any more', async () => {
    const others = Array.from({ length: 999 }, (_, i) => [incoming(`r${i}`, '/b', 3), completed(`r${i}`)]).flat()
    const open = [incoming('x', '/1', 1), incoming('x', '/2', 2)]
    const log = [...open, ...others, completed('x', 201), incoming('x', '/3', 1), completed('x', 202)]
    const counted = (await countedIn(log)).filter(([, , path]) => path !== '/b')
    expect(counted.map(([, , path, status]) => [path, status])).toEqual([
      ['/1', undefined],
      ['/2', 201],
      ['/3', 202],
    ])
  })

  test('may log requests to other servers, and how long they took', async () => {
    const fetched = (more: Json) => pino({ reqId: 'req-1', responseTime: 3, msg: 'fetched', ...more })
    const log = [
      fetched({ url: '/x', statusCode: 200 }),
      fetched({ statusCode: 200 }),
      incoming('req-1'),
      fetched({}),
      fetched({ url: '/x' }),
      fetched({ url: '/x', statusCode: 200 }),
      completed('req-1', 401),
      fetched({ url: '/x', statusCode: 200 }),
      incoming('req-2'),
      completed('req-2', 402),
    ]
    expect(await countedIn(log)).toEqual([
      [3, '192.0.2.1', '/a', 401],
      [9, '192.0.2.1', '/a', 402],
    ])
  })

  test('may share a log with pino-http', async () => {
    const other = pino({ req: reqOf(1, '/b'), res: { statusCode: 200 }, responseTime: 2 })
    expect(await countedIn([incoming('req-1'), completed('req-1', 201), other])).toEqual([
      [1, '192.0.2.1', '/a', 201],
      [3, '192.0.2.1', '/b', 200],
    ])
  })

  test('each request is counted once, in order, with its status, however requests overlap', async () => {
    const request = fc.record({
      start: fc.nat(500),
      took: fc.nat(200),
      lines: fc.nat(3),
      status: fc.integer({ min: 200, max: 599 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 40 }), async (requests) => {
        const events = requests.flatMap(({ start, took, lines, status }, i) => [
          { at: start, line: () => incoming(`req-${i}`, `/${i}`, i) },
          ...Array.from({ length: lines }, () => ({
            at: start + Math.floor(took / 2),
            line: () => pino({ reqId: `req-${i}`, msg: 'working' }),
          })),
          { at: start + took, line: () => completed(`req-${i}`, status) },
        ])
        const log = events.toSorted((a, b) => a.at - b.at).map(({ line }) => line())
        const expected = requests
          .map(({ start, status }, i) => ({ start, path: `/${i}`, status }))
          .toSorted((a, b) => a.start - b.start)
        expect((await countedIn(log)).map(([, , path, status]) => [path, status])).toEqual(
          expected.map(({ path, status }) => [path, status]),
        )
      }),
      { numRuns: 40 },
    )
  })
})

test('what is held is returned with the lines of other formats in their order', async () => {
  const common = '192.0.2.1 - - [05/Jan/2026:00:00:00 +0000] "GET /common HTTP/1.1" 200 1'
  const request = JSON.stringify({ level: 30, time: START, reqId: 1, req: reqOf(undefined), msg: 'incoming request' })
  const flat = JSON.stringify({ time: START, path: '/flat' })
  const response = JSON.stringify({ level: 30, time: START, reqId: 1, res: { statusCode: 401 }, responseTime: 1 })
  const source = await openSource('-', Readable.from([Buffer.from([request, flat, 'x', response, common].join('\n'))]))
  const paths: string[] = []
  const reading = await readLogs([source], ({ target, status }) => paths.push(`${target} ${status}`))
  expect(paths).toEqual(['/a 401', '/flat undefined', '/common 200'])
  expect(reading).toMatchObject({ lines: 5, entries: 3, skipped: 1, bad: { count: 1 } })
  expect([...reading.formats]).toEqual([
    ['json', 2],
    ['combined', 1],
  ])
})

describe('other loggers', () => {
  test('whose lines have the request and the status count those lines', async () => {
    const bunyan = { name: 'audit', hostname: 'web', pid: 7, level: 30, v: 0 }
    const log = [
      { ...bunyan, time: '2026-01-05T00:00:00.000Z', req: reqOf(undefined), msg: 'start' },
      { ...bunyan, time: '2026-01-05T00:00:00.100Z', req: reqOf(undefined), res: { statusCode: 200 }, latency: 100 },
      { ...bunyan, time: '2026-01-05T00:00:00.200Z', msg: 'idle' },
    ]
    expect(await countedIn(log)).toEqual([[2, '192.0.2.1', '/a', 200]])
  })

  test('whose lines have the request only count each line', async () => {
    const log = Array.from({ length: 1_200 }, () => pino({ req: reqOf(undefined) }))
    expect(await countedIn(log)).toHaveLength(1_200)
    const { read, end } = lineReader('json', {})
    const early = log.flatMap((line, i) => entriesIn(read(JSON.stringify(line), i + 1)))
    expect([early.length, end()]).toEqual([1_200, []])
  })

  test('whose lines have the request and its id count each request', async () => {
    const log = [1, 1, 2, 2, 2].map((id) => pino({ req: reqOf(id), msg: 'working' }))
    expect((await countedIn(log)).map(([line]) => line)).toEqual([1, 3])
  })

  // A log format of nginx may have these names, and an invalid request has no path.
  test('whose lines have an id and a time beside the request count each request', async () => {
    const line = (more: Json) => ({ time: clock++, reqId: 'a', ip: '192.0.2.1', responseTime: '0.1', ...more })
    const log = [line({ status: 400 }), line({ path: '/a', status: 200 }), line({ path: '/a', status: 200 })]
    expect((await countedIn(log)).map(([line]) => line)).toEqual([2, 3])
  })

  test.each<[string, Json]>([
    ['Google Cloud', { httpRequest: { remoteIp: '192.0.2.1', requestUrl: 'https://x.example/a', status: 200 } }],
    ['nginx', { remote_addr: '192.0.2.1', request: 'GET /a HTTP/1.1', status: 200 }],
    ['an address', { ip: '192.0.2.1' }],
    ['a path', { path: '/a' }],
    ['a status', { status: 200 }],
    ['a mapped claim', { who: 'ann' }],
    ['a mapped cookie', { sid: 's' }],
  ])('a line with the fields of %s counts', async (_, fields) => {
    const mapped = {
      path: 'httpRequest.requestUrl',
      ip: 'httpRequest.remoteIp',
      status: 'httpRequest.status',
      'claim:user': 'who',
      'cookie:sid': 'sid',
    }
    const isMapped = ['httpRequest', 'who', 'sid'].some((name) => name in fields)
    const options = isMapped ? { fields: mapped } : {}
    const lines = [
      { time: clock, msg: 'before' },
      { time: clock, ...fields },
      { time: clock, msg: 'after' },
    ]
    const { entries, reading } = await read(lines, options)
    expect([entries.map(({ line }) => line), reading.skipped]).toEqual([[2], 2])
  })
})

describe('the program', () => {
  const req = { method: 'GET', url: '/a', remoteAddress: '192.0.2.1', remotePort: 1 }
  const fastify = [
    pino({ msg: 'Server listening' }),
    ...['req-1', 'req-2'].flatMap((reqId) => [
      pino({ reqId, req, msg: 'incoming request' }),
      pino({ reqId, res: { statusCode: 200 }, responseTime: 1, msg: 'request completed' }),
    ]),
  ]
  const folder = folderOf({
    'fastify.log': fastify.map((line) => `${JSON.stringify(line)}\n`).join(''),
    'messages.log': '{"time":1767571200000,"msg":"a"}\n',
    'p.json': JSON.stringify([bucket('p', { limit: 1, per: '1m', burst: 1 })]),
    'failed.json': JSON.stringify([bucket('p', { limit: 1, per: '1m', burst: 1 }, { count_if: [401] })]),
  })
  const replay = (policy: string, log: string, ...more: string[]) =>
    spillway(['replay', folder.path(log), '--policy', folder.path(policy), ...more])

  test('reports the lines that are no requests, and has a verdict', async () => {
    const { exitCode, out } = await replay('p.json', 'fastify.log', '--html', folder.path('report.html'))
    expect([exitCode, out]).toEqual([0, expect.stringContaining('2 requests in 5 lines, format: json\n')])
    expect(out).toContain('3 lines are no requests\n')
    expect(out).toContain('denies 1 of 2 (50 %)')
    const { readFileSync } = await import('node:fs')
    expect(readFileSync(folder.path('report.html'), 'utf8')).toContain('3 lines are no requests')
    const json = JSON.parse((await replay('p.json', 'fastify.log', '--json')).out)
    expect(json).toMatchObject({ lines: 5, requests: 2, skipped: 3, bad: { count: 0 }, formats: { json: 2 } })
    const suggested = await spillway(['suggest', folder.path('fastify.log')])
    expect(suggested.out).toContain('2 requests in 5 lines, format: json\n')
    expect(suggested.out).toContain('3 lines are no requests\n')
    expect(JSON.parse((await spillway(['suggest', folder.path('fastify.log'), '--json'])).out)).toMatchObject({
      skipped: 3,
    })
  })

  test('counts by the status of the response', async () => {
    const { plans } = JSON.parse((await replay('failed.json', 'fastify.log', '--json')).out)
    expect(plans[0].policies[0].denied).toBe(0)
  })

  test('has no verdict for messages only, and names the option for fields', async () => {
    const { exitCode, err } = await replay('p.json', 'messages.log')
    expect([exitCode, err]).toEqual([
      3,
      expect.stringContaining('no line of the log is a request: if it has requests, --field path=…'),
    ])
  })
})
