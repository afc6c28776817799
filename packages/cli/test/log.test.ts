import { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { type Entry, entryReader } from '../src/log/entry.ts'
import { openSource } from '../src/log/file.ts'
import { lineReader } from '../src/log/formats.ts'
import { lineSplitter } from '../src/log/lines.ts'
import { type ReadOptions, readLogs } from '../src/log/read.ts'
import { folderOf } from './terminal.ts'

const folders: { remove: () => void }[] = []
afterAll(() => {
  for (const folder of folders) folder.remove()
})

async function read(text: string | Buffer | readonly (string | Buffer)[], options: ReadOptions = {}) {
  const chunks = [text].flat().map((chunk) => Buffer.from(chunk))
  const entries: { entry: Entry; at: number; line: number }[] = []
  const source = await openSource('-', Readable.from(chunks))
  const reading = await readLogs([source], (entry, at, line) => entries.push({ entry, at, line }), options)
  return { reading, entries, entry: entries[0]?.entry as Entry }
}

const partsOf = ({ address, method, target, status }: Entry) => [address, method, target, status]
const T0 = Date.UTC(2000, 9, 10, 20, 55, 36) * 1000
const common = '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.0" 200 2326'

describe('common and combined logs', () => {
  test.each<[string, string, unknown]>([
    ['a common line', common, ['127.0.0.1', 'GET', '/a.gif?x=1', 200]],
    [
      'a combined line',
      `${common} "https://example.com/" "Mozilla/4.08 [en]"`,
      ['127.0.0.1', 'GET', '/a.gif?x=1', 200],
    ],
    ['a user with spaces', common.replace('frank', 'frank b. jones'), ['127.0.0.1', 'GET', '/a.gif?x=1', 200]],
    ['quotes in the request', common.replace('/a.gif', '/\\"a\\\\'), ['127.0.0.1', 'GET', '/\\"a\\\\?x=1', 200]],
    ['no version', common.replace(' HTTP/1.0', ''), ['127.0.0.1', 'GET', '/a.gif?x=1', 200]],
    ['no request', common.replace(/"GET.*0"/, '"-"'), ['127.0.0.1', '', '', 200]],
    ['bytes that are no request', common.replace(/"GET.*0"/, '"\\x16\\x03"'), ['127.0.0.1', '', '', 200]],
    ['no address', common.replace('127.0.0.1', '-'), [undefined, 'GET', '/a.gif?x=1', 200]],
    ['no status', common.replace(' 200 ', ' - '), ['127.0.0.1', 'GET', '/a.gif?x=1', undefined]],
    ['IPv6', common.replace('127.0.0.1', '2001:db8::1'), ['2001:db8::1', 'GET', '/a.gif?x=1', 200]],
  ])('%s is read', async (_, line, expected) => {
    const { entry, entries } = await read(line)
    expect([partsOf(entry), entries[0]?.at]).toEqual([expected, T0])
  })

  // Its key would be another for each port.
  test('an address with a port that is no number is no client', () => {
    const line = common.replace('127.0.0.1', '[2001:db8::1]:https')
    expect(lineReader('auto', {}).read(line, 1)).toBe('it begins with neither an address nor a hostname')
  })

  test('what follows the request is read as headers and as a claim', async () => {
    const { entry } = await read(`${common} "https://example.com/\\"x" "curl/8" "192.0.2.1, 10.0.0.1"`)
    expect(['referer', 'user-agent', 'x-forwarded-for', 'x-api-key'].map((name) => entry.header(name))).toEqual([
      'https://example.com/"x',
      'curl/8',
      '192.0.2.1, 10.0.0.1',
      undefined,
    ])
    expect([entry.claim('user'), entry.claim('name')]).toEqual(['frank', undefined])
    expect((await read(`${common} "-" "-"`)).entry.header('referer')).toBeUndefined()
  })

  test.each(['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'])(
    '%s is a month',
    async (month) => {
      const { entry } = await read(common.replace('10/Oct', `29/${month}`))
      expect(entry.at).toBe(Date.parse(`29 ${month} 2000 20:55:36 GMT`) * 1000)
    },
  )

  // Reproduces a bug: such a time was taken for a later one, after which other lines counted as late.
  test.each([
    '10/Oct/2000:24:00:00 +0000',
    '10/Oct/2000:13:60:36 +0000',
    '10/Oct/2000:13:55:61 +0000',
    '10/Oct/2000:13-55-36 +0000',
    '10/Oct/2000:13:55:36_+0000',
    '10/Oct/2000:13:55:36 +0060',
    '31/Feb/2000:13:55:36 +0000',
    '00/Oct/2000:13:55:36 +0000',
    // Reproduces a bug: a bucket had fewer units before 1970, and a year before 100 was taken for one after 1900.
    '01/Jan/1970:00:30:00 +0100',
    '31/Dec/1969:23:59:59 +0000',
    '10/Oct/0050:13:55:36 +0000',
    '10/Oct/0099:13:55:36 +0000',
    '10/Oct/9999:13:55:36 +0000',
  ])('%s is no time', async (time) => {
    expect((await read(`1.1.1.1 - - [${time}] "GET / HTTP/1.1" 200 1`)).entries).toEqual([])
  })

  test('a time may be in 1970 though its day begins before', async () => {
    const { entries } = await read(common.replace('10/Oct/2000:13:55:36 -0700', '01/Jan/1970:01:00:01 +0100'))
    expect(entries.map(({ entry }) => entry.at)).toEqual([1e6])
  })

  test('days, zones and seconds are parsed line by line', async () => {
    const times = [
      '10/Oct/2000:13:55:36 -0700',
      '10/Oct/2000:13:55:37 -0700',
      '10/Oct/2000:22:55:38 +0130',
      '11/Oct/2000:00:00:00 +0000',
      '10/Oct/2000:13:55:36 -0700',
    ]
    const { entries } = await read(times.map((time) => `1.1.1.1 - - [${time}] "GET / HTTP/1.1" 200 1`).join('\n'))
    const ms = [0, 1000, 1_802_000, 11_064_000, 0].map((millis) => T0 + millis * 1000)
    expect(entries.map(({ entry }) => entry.at)).toEqual([
      T0,
      T0 + 1e6,
      Date.parse('2000-10-10T21:25:38Z') * 1000,
      Date.parse('2000-10-11T00:00:00Z') * 1000,
      T0,
    ])
    expect(ms[0]).toBe(T0)
  })
})

describe('JSON logs', () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5)
  test.each<[string, unknown, number]>([
    ['seconds', at / 1000, at * 1000],
    ['seconds with a fraction', at / 1000 + 0.123456, at * 1000 + 123_456],
    ['milliseconds', at, at * 1000],
    ['microseconds', at * 1000, at * 1000],
    ['nanoseconds', at * 1e6, at * 1000],
    ['seconds as text', String(at / 1000), at * 1000],
    ['a date', '2026-01-02T03:04:05Z', at * 1000],
    ['a date with a fraction', '2026-01-02T03:04:05.1Z', at * 1000 + 100_000],
    ['a date with microseconds and a zone', '2026-01-02T04:04:05.000123+01:00', at * 1000 + 123],
    ['a date with nanoseconds', '2026-01-02T03:04:05.123456789Z', at * 1000 + 123_456],
    ['a date with a space and no zone', '2026-01-02 03:04:05', at * 1000],
    ['the time of common logs', '02/Jan/2026:03:04:05 +0000', at * 1000],
  ])('%s are a time', async (_, time, micros) => {
    const line = JSON.stringify({ time, ip: '192.0.2.1' })
    // Twice, because the last date is cached.
    const { entries } = await read(`${line}\n${line}`)
    expect(entries.map(({ entry }) => entry.at)).toEqual([micros, micros])
  })

  test.each<[string, object]>([
    ['flat', { time: at, ip: '192.0.2.1', method: 'get', path: '/a?b=c', status: 200, http_x_api_key: 'k' }],
    [
      'nginx',
      {
        time_iso8601: '2026-01-02T03:04:05+00:00',
        remote_addr: '192.0.2.1',
        request: 'GET /a?b=c HTTP/1.1',
        status: '200',
        http_x_api_key: 'k',
      },
    ],
    [
      'pino',
      {
        time: at,
        req: { method: 'GET', url: '/a?b=c', remoteAddress: '192.0.2.1', headers: { 'x-api-key': 'k' } },
        res: { statusCode: 200 },
      },
    ],
    [
      'Caddy',
      {
        ts: at / 1000,
        request: { remote_ip: '192.0.2.1', method: 'GET', uri: '/a?b=c', headers: { 'X-Api-Key': ['k'] } },
        status: 200,
      },
    ],
    [
      'Traefik',
      {
        StartUTC: '2026-01-02T03:04:05.000000000Z',
        ClientHost: '192.0.2.1',
        RequestMethod: 'GET',
        RequestPath: '/a?b=c',
        DownstreamStatus: 200,
        headers: { 'x-api-key': 'k' },
      },
    ],
  ])('the names of %s are known', async (_, line) => {
    const { entry } = await read(JSON.stringify(line))
    expect([entry.at, ...partsOf(entry), entry.header('x-api-key')]).toEqual([
      at * 1000,
      '192.0.2.1',
      'GET',
      '/a?b=c',
      200,
      'k',
    ])
    expect([entryReader.path(entry), entryReader.query(entry)]).toEqual(['/a', 'b=c'])
  })

  test('fields may be named, with dots on the way or in the name', async () => {
    const fields = {
      time: 'when.done',
      ip: 'who',
      'header:x-key': 'in.key',
      'claim:plan': 'user.plan',
      'cookie:sid': 'a.b',
    }
    const line = { when: { done: at }, time: 1, who: '192.0.2.1', in: { key: 'k' }, user: { plan: 'pro' }, 'a.b': 's' }
    const { entry } = await read(JSON.stringify(line), { fields })
    expect([entry.at, entry.address, entry.header('x-key'), entry.claim('plan'), entry.header('cookie')]).toEqual([
      at * 1000,
      '192.0.2.1',
      'k',
      'pro',
      'sid=s',
    ])
  })

  // Reproduces a bug: a message of Traefik itself, without StartUTC, changed the time of all requests after it.
  test('a line that has another field for a part does not change that of the lines after it', async () => {
    const request = { StartUTC: '2026-01-02T03:04:05.25Z', ClientHost: '192.0.2.1', time: '2026-01-02T03:04:09Z' }
    const message = { level: 'info', msg: 'Configuration loaded.', time: '2026-01-02T03:04:05Z', ip: '192.0.2.9' }
    const { entries } = await read([message, request, request].map((line) => JSON.stringify(line)).join('\n'))
    expect(entries.map(({ entry }) => [entry.at / 1000 - at, entry.address])).toEqual([
      [0, '192.0.2.9'],
      [250, '192.0.2.1'],
      [250, '192.0.2.1'],
    ])
  })

  test.each<[string, object]>([
    ['null', { StartUTC: null, remote_addr: null, method: null, url: null, status: null }],
    ['an empty text', { StartUTC: '', remote_addr: '', method: '', url: '', status: '' }],
    ['a hyphen', { StartUTC: '-', remote_addr: '-', method: '-', url: '-', status: '-' }],
    ['an object', { StartUTC: {}, remote_addr: {}, method: {}, url: {}, status: {} }],
    ['an invalid value', { StartUTC: 'today', remote_addr: [1], method: true, url: [[]], status: 'ok' }],
  ])('%s is passed over for a field that has a value', async (_, missing) => {
    const there = { time: at, ClientHost: '192.0.2.1', req: { method: 'GET', url: '/a' }, statusCode: 201 }
    const line = JSON.stringify({ ...missing, ...there })
    const { entries } = await read(`${line}\n${line}`)
    const parts = [at * 1000, '192.0.2.1', 'GET', '/a', 201]
    expect(entries.map(({ entry }) => [entry.at, ...partsOf(entry)])).toEqual([parts, parts])
  })

  test('inherited names are not fields', async () => {
    const { entry } = await read('{"time":1767323045000,"status":200,"__proto__":{"ip":"1.1.1.1"}}', {
      fields: { path: 'constructor', 'claim:x': '__proto__.x' },
    })
    expect([entry.address, entry.target, entry.claim('x'), entry.header('__proto__')]).toEqual([
      undefined,
      '',
      undefined,
      undefined,
    ])
  })
})

describe('whatever a file holds', () => {
  test('lines are the same however the file is cut into chunks', () => {
    const text = fc.string({ unit: fc.constantFrom('\n', '\n', '\r', 'a', 'é', '€', '\ufeff'), maxLength: 60 })
    const piece = fc.integer({ min: 1, max: 20 })
    fc.assert(
      fc.property(text, fc.array(piece, { minLength: 1, maxLength: 8 }), (text, pieces) => {
        const found: unknown[] = []
        const splitter = lineSplitter(new StringDecoder('utf8'), (...line) => found.push(line))
        const bytes = Buffer.from(text)
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const length = pieces[i % pieces.length] as number
          splitter.write(bytes.subarray(at, at + length))
          at += length
        }
        splitter.end()
        const lines = text.split('\n')
        const last = lines.length - 1
        const expected = lines
          .map((line, i) => (i < last && line.endsWith('\r') ? line.slice(0, -1) : line))
          .map((line, i) => [i === 0 ? line.replace(/^\ufeff/, '') : line, i + 1, line] as const)
          .filter(([, , line]) => line !== '')
          .map(([line, number]) => [line, number, /\r[^\r]/.test(line) ? expect.stringMatching('returns') : undefined])
        expect(found).toEqual(expected)
      }),
      { numRuns: 500 },
    )
  })

  test('invalid lines are counted and shown, and the others read', async () => {
    const long = 'x'.repeat(2_000_000)
    const { reading, entries } = await read([
      `${common}\r\n\r\ngarbage\n${long.slice(0, 900_000)}`,
      `${long}\n${common}\n[10/Oct/2000] ""\n`,
      common.replace('Oct', 'Okt'),
    ])
    expect([reading.lines, reading.entries, reading.bad.count, entries.map(({ line }) => line)]).toEqual([
      6,
      2,
      4,
      [1, 5],
    ])
    expect(reading.bad.first.map(({ line, reason }) => [line, reason])).toEqual([
      [3, 'it has no time in brackets'],
      [4, 'it is longer than a megabyte'],
      [6, 'it has no time in brackets'],
      [7, 'its time is invalid'],
    ])
  })

  test.each<[string, string]>([
    ['{"ip":1}', 'it has no time'],
    ['{"time":"yesterday"}', 'its time is invalid'],
    ['{"time":null}', 'it has no time'],
    ['{"time":-1}', 'its time is invalid'],
    ['{"time":"1969-12-31T23:59:59.5Z"}', 'its time is invalid'],
    ['{"time":"1970-01-01T00:30:00+01:00"}', 'its time is invalid'],
    ['{"time":"0070-01-01T00:00:00Z"}', 'its time is invalid'],
    ['{"time":"9999-01-01T00:00:00Z"}', 'its time is invalid'],
    ['{"time":"01/Jan/1970:00:30:00 +0100"}', 'its time is invalid'],
    // Reproduces a bug: a time after the last date of JavaScript ended the program.
    ...['1e400', '1e23', '"99999999999999999999999999"', '9.1e18', '9.1e15'].map((time): [string, string] => [
      `{"time":${time}}`,
      'its time is invalid',
    ]),
    ['{"time":', 'it is not a JSON object'],
    ['{}', 'it has no time'],
  ])('%s is reported as invalid', async (line, reason) => {
    expect((await read(line)).reading.bad.first).toEqual([{ file: 'standard input', line: 1, reason, text: line }])
  })

  test('chunks may end anywhere, within a character too', async () => {
    const bytes = Buffer.from(`\ufeff{"time":1767323045000,"path":"/häß–€😀"}\n{"time":1767323045000,"path":"/b"}`)
    const chunks = Array.from(bytes, (byte) => Buffer.from([byte]))
    expect((await read(chunks)).entries.map(({ entry }) => entry.target)).toEqual(['/häß–€😀', '/b'])
  })

  test('gzip is detected by its bytes, with several members or truncated', async () => {
    const packed = Buffer.concat([gzipSync(`${common}\n`), gzipSync(`${common}\n`)])
    expect((await read([packed.subarray(0, 1), packed.subarray(1)])).reading).toMatchObject({ entries: 2, broken: [] })
    const half = gzipSync(`${common}\n`.repeat(1000)).subarray(0, -20)
    expect((await read(half)).reading.broken).toEqual(['standard input ends too early: unexpected end of file'])
    expect((await read(Buffer.from([0x1f]))).reading).toMatchObject({ lines: 1, bad: { count: 1 } })
    expect((await read('')).reading).toMatchObject({ lines: 0, from: undefined, to: undefined })
  })

  test('a request that is logged late counts when it is logged', async () => {
    const times = ['36', '39', '37', '38', '40']
    const { reading, entries } = await read(times.map((time) => common.replace(':36', `:${time}`)).join('\n'))
    expect(entries.map(({ at }) => (at - T0) / 1e6)).toEqual([0, 3, 3, 3, 4])
    expect(reading).toMatchObject({ late: { count: 2, most: 2e6 }, from: T0, to: T0 + 4e6 })
  })

  test('the event loop turns while a file is read', async () => {
    const folder = folderOf({ a: `${common}\n`.repeat(5000) })
    folders.push(folder)
    const source = await openSource(folder.path('a'), Readable.from([]))
    let hasTurned = false
    setImmediate(() => {
      hasTurned = true
    })
    expect((await readLogs([source], () => {})).entries).toBe(5000)
    expect(hasTurned).toBe(true)
  })

  test('several files are read in their order, each by its own format', async () => {
    const folder = folderOf({ a: gzipSync(`${common}\n`), b: '{"time":1767323045000,"path":"/"}\n' })
    folders.push(folder)
    const sources = [
      await openSource(folder.path('a'), Readable.from([])),
      await openSource(folder.path('b'), Readable.from([])),
    ]
    const reading = await readLogs(sources, () => {})
    expect([reading.entries, reading.bad.count, sources.map(({ done, size }) => done() === size)]).toEqual([
      2,
      0,
      [true, true],
    ])
  })
})
