import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Entry, entryReader, type Parsed } from '../src/log/entry.ts'
import { lineReader } from '../src/log/formats.ts'
import { entriesIn, folderOf, spillway } from './terminal.ts'

// Each fixture is a log as its server writes it, of one and the same request: POST /login at 15:00:10 from 203.0.113.66.

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}.log`, import.meta.url))

describe('the format', () => {
  const policies = folderOf({
    'p.json': JSON.stringify([
      {
        name: 'agent',
        limit_keys: ['ip', 'header:user-agent', 'path', 'query:next'],
        algorithm: 'fixed_window',
        algorithm_config: { limit: 1, window: '1h' },
        match: { method: 'POST' },
      },
    ]),
  })

  test.each([
    ['nginx', 'combined', 'curl/8.5.0'],
    ['apache', 'combined', 'curl/8.5.0'],
    ['vhost', 'combined', 'curl/8.5.0'],
    ['caddy', 'json', 'curl/8.5.0'],
    ['traefik', 'json', 'curl/8.5.0'],
    ['pino', 'json', 'curl/8.5.0'],
    ['cloudfront', 'cloudfront', '"curl/8.5.0 (x)"'],
    ['alb', 'alb', 'curl/8.5.0'],
    ['envoy', 'envoy', 'curl/8.5.0'],
  ])('%s is read by its name, and detected', async (name, detected, agent) => {
    for (const format of [name, 'auto']) {
      const { exitCode, out, err } = await spillway([
        ...['replay', fixture(name), '--policy', policies.path('p.json'), '--json', '--format', format],
      ])
      expect([exitCode, err]).toEqual([0, ''])
      const { from, formats, plans } = JSON.parse(out)
      const whole = ['nginx', 'apache', 'vhost', 'cloudfront'].includes(name)
      expect(from).toBe(`2026-01-05T15:00:10.${whole ? '000' : '250'}Z`)
      expect(formats).toEqual({ [format === 'vhost' ? 'vhost' : detected]: 1 })
      expect(plans[0].policies[0].busiest[0].key).toBe(`203.0.113.66 ${agent} /login /`)
      const { read } = lineReader(format, {})
      const { readFileSync } = await import('node:fs')
      const lines = readFileSync(fixture(name), 'utf8').trimEnd().split('\n')
      const found = lines.map(read).flatMap(entriesIn)
      expect(found.map(({ status }) => status)).toEqual([401])
    }
  })

  test('is chosen for each line, and reported', async () => {
    const { readFileSync } = await import('node:fs')
    const names = ['nginx', 'pino', 'alb', 'envoy', 'cloudfront', 'caddy']
    const mixed = folderOf({ 'mixed.log': names.map((name) => readFileSync(fixture(name), 'utf8')).join('') })
    const { out } = await spillway(['suggest', mixed.path('mixed.log'), '--per', 'day'])
    expect(out).toContain('6 requests in 6 lines, format: combined 1, json 2, alb 1, envoy 1, cloudfront 1\n')
    mixed.remove()
  })
})

describe('a format string', () => {
  const read = (format: string, line: string): Parsed => lineReader(format, {}).read(line, 1)

  test.each([
    [
      '$remote_addr - $remote_user [$time_local] "$request" $status "$http_x_api_key" $cookie_sid',
      '192.0.2.1 - bob [05/Jan/2026:15:00:10 +0000] "GET /a?b=c HTTP/1.1" 200 "k\\"1" s7',
    ],
    [
      '%h %l %u %t "%r" %>s "%{X-Api-Key}i" %{sid}C',
      '192.0.2.1 - bob [05/Jan/2026:15:00:10 +0000] "GET /a?b=c HTTP/1.1" 200 "k\\"1" s7',
    ],
    [
      '$msec|$remote_addr|$remote_user|$request_method|$uri|$args|$status|"$http_x_api_key"|$cookie_sid',
      '1767625210.000|192.0.2.1|bob|GET|/a|b=c|200|"k\\"1"|s7',
    ],
    ['%{msec}t %a %u %m %U%q %s "%{x-api-key}i" %{sid}C', '1767625210000 192.0.2.1 bob GET /a?b=c 200 "k\\"1" s7'],
  ])('%s', (format, line) => {
    // A path and a query without text between them cannot be told apart.
    const usable = format.replace('%U%q', '%U')
    const entry = read(usable, line) as Entry
    expect(entry).toMatchObject({
      at: 1767625210e6,
      address: '192.0.2.1',
      method: 'GET',
      target: '/a?b=c',
      status: 200,
    })
    expect([entry.header('x-api-key'), entry.header('cookie'), entry.claim('user')]).toEqual(['k"1', 'sid=s7', 'bob'])
    expect(entry.header('x-other')).toBeUndefined()
  })

  // Reproduces a bug: the query was counted as `1?k=1`.
  test.each([
    ['$remote_addr [$time_iso8601] $request_uri $args', '192.0.2.1 [2026-01-05T15:00:10+00:00] /p?k=1 k=1', '/p?k=1'],
    ['%h %t "%r" "%q"', '192.0.2.1 [05/Jan/2026:15:00:10 +0000] "GET /p?k=1 HTTP/1.1" "?k=1"', '/p?k=1'],
    ['%h %t "%r" "%q"', '192.0.2.1 [05/Jan/2026:15:00:10 +0000] "GET /p? HTTP/1.1" ""', '/p?'],
    ['%h %t "%m" "%U" "%q"', '192.0.2.1 [05/Jan/2026:15:00:10 +0000] "GET" "/p" "?k=1"', '/p?k=1'],
  ])('%s has the query once', (format, line, target) => {
    expect((read(format, line) as Entry).target).toBe(target)
  })

  test('reports where a line does not match', () => {
    expect(read('$remote_addr [$time_local] $status', '192.0.2.1 {x}')).toBe(
      'it does not match the format: no " [" from column 1 on',
    )
    expect(read('[$time_local] "$request"', '[05/Jan/2026:15:00:10 +0000] "GET')).toContain('no "\\"" from column 31')
    expect(read('$remote_addr [$time_local]', '192.0.2.1 [yesterday]')).toBe('its time is invalid')
    expect(read('$remote_addr [$time_local]', '192.0.2.1 [-]')).toBe('it has no time')
  })

  test.each([
    ['$remote_addr $status', '--format needs the time of a request'],
    ['%U%q %t', '--format needs text between two fields'],
    ['ngnix', '--format is auto, combined,'],
  ])('%s is an error', (format, message) => {
    expect(() => read(format, 'x')).toThrow(message)
  })
})

test('a directive of CloudFront changes the fields; another comment is not a line of it', () => {
  const { read } = lineReader('cloudfront', {})
  const parse = (line: string) => read(line, 1)
  expect(parse('#Fields: time date c-ip')).toBeUndefined()
  expect(parse('15:00:10\t2026-01-05\t192.0.2.1')).toMatchObject({ at: 1767625210e6, address: '192.0.2.1' })
  expect(parse('# a comment')).toContain('no directive')
  expect(parse('15:00:10\t2026-01-05\t%zz')).toMatchObject({ address: '%zz' })
})

test('the client of Envoy is the last address of X-Forwarded-For; a proxy in front of it is passed', () => {
  const entry = lineReader('envoy', {}).read(
    '[2026-01-05T15:00:10.250Z] "GET / HTTP/2" 200 - 0 1 1 1 "198.51.100.7, 203.0.113.66" "-" "-" "a" "b"',
    1,
  ) as Entry
  expect([entry.address, entry.header('x-forwarded-for')]).toEqual(['203.0.113.66', '198.51.100.7'])
  const alone = lineReader('envoy', {}).read(
    '[2026-01-05T15:00:10.250Z] "GET / HTTP/2" 200 - 0 1 1 1 "-" "-" "-" "a" "b"',
    1,
  )
  expect(alone).toMatchObject({ address: undefined })
})

test('a virtual host in front of a hostname is read if the format names it', () => {
  const line = 'shop a.example.net - - [05/Jan/2026:15:00:10 +0000] "GET / HTTP/1.1" 200 1'
  expect(lineReader('vhost', {}).read(line, 1)).toMatchObject({ address: 'a.example.net' })
  expect(lineReader('combined', {}).read(line, 1)).toMatchObject({ address: 'shop' })
})

// Reproduces a bug: some formats kept the scheme and the host, so that no policy for a path counted the request.
describe('a URL as the target of a request', () => {
  const json = (target: string) => JSON.stringify({ time: 1767625210, ip: '192.0.2.1', method: 'POST', url: target })
  const request = (target: string) => JSON.stringify({ time: 1767625210, request: `POST ${target} HTTP/1.1` })
  const google = (target: string) => JSON.stringify({ time: 1767625210, httpRequest: { requestUrl: target } })
  const combined = (target: string) => `192.0.2.1 - - [05/Jan/2026:15:00:10 +0000] "POST ${target} HTTP/1.1" 401 1`
  const alb = (target: string) =>
    `https 2026-01-05T15:00:10.2Z lb 192.0.2.1:1 - 0 0 0 401 401 1 1 "POST ${target} HTTP/1.1" "x" - - t "-" "h" `
  const formats = [
    ['json', json, {}],
    ['json', request, {}],
    ['json', google, { path: 'httpRequest.requestUrl' }],
    ['combined', combined, {}],
    ['alb', alb, {}],
    ['%h %l %u %t "%r" %>s', combined, {}],
  ] as const
  const paths = [
    ['https://shop.example/login?x=1', '/login'],
    ['HTTP://user@shop.example:8080/login', '/login'],
    ['coap+tcp://[2001:db8::1]:1/login', '/login'],
    ['http://shop.example?x=1', '/'],
    ['http://shop.example', '/'],
    ['/go/http://shop.example/login', '/go/http://shop.example/login'],
    ['//shop.example/login', '//shop.example/login'],
    ['/', '/'],
    ['*', '*'],
    ['shop.example:443', 'shop.example:443'],
  ] as const

  test.each(
    formats.flatMap(([format, line, fields]) =>
      paths.map(([target, path]) => [format, line(target), path, fields] as const),
    ),
  )('%s: %s has the path %s', (format, line, path, fields) => {
    const reader = lineReader(format, fields)
    const parsed = reader.read(line, 1) as Entry
    expect(entryReader.path(parsed)).toBe(path)
    if (line.includes('?x=1')) expect(entryReader.query(parsed)).toBe('x=1')
  })
})
