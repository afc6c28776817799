import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../src/log/entry.ts'
import { lineReader } from '../src/log/formats.ts'
import { folderOf, spillway } from './terminal.ts'

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
      const status = (entries: readonly unknown[]) => entries.map((each) => (each as Entry).status)
      const { parse } = lineReader(format, {})
      const { readFileSync } = await import('node:fs')
      const lines = readFileSync(fixture(name), 'utf8').trimEnd().split('\n')
      expect(status(lines.map(parse).filter((entry) => entry !== undefined))).toEqual([401])
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
  const read = (format: string, line: string): Entry | string | undefined => lineReader(format, {}).parse(line)

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
  const { parse } = lineReader('cloudfront', {})
  expect(parse('#Fields: time date c-ip')).toBeUndefined()
  expect(parse('15:00:10\t2026-01-05\t192.0.2.1')).toMatchObject({ at: 1767625210e6, address: '192.0.2.1' })
  expect(parse('# a comment')).toContain('no directive')
  expect(parse('15:00:10\t2026-01-05\t%zz')).toMatchObject({ address: '%zz' })
})

test('the client of Envoy is the last address of X-Forwarded-For; a proxy in front of it is passed', () => {
  const entry = lineReader('envoy', {}).parse(
    '[2026-01-05T15:00:10.250Z] "GET / HTTP/2" 200 - 0 1 1 1 "198.51.100.7, 203.0.113.66" "-" "-" "a" "b"',
  ) as Entry
  expect([entry.address, entry.header('x-forwarded-for')]).toEqual(['203.0.113.66', '198.51.100.7'])
  const alone = lineReader('envoy', {}).parse(
    '[2026-01-05T15:00:10.250Z] "GET / HTTP/2" 200 - 0 1 1 1 "-" "-" "-" "a" "b"',
  )
  expect(alone).toMatchObject({ address: undefined })
})

test('a virtual host in front of a hostname is read if the format names it', () => {
  const line = 'shop a.example.net - - [05/Jan/2026:15:00:10 +0000] "GET / HTTP/1.1" 200 1'
  expect(lineReader('vhost', {}).parse(line)).toMatchObject({ address: 'a.example.net' })
  expect(lineReader('combined', {}).parse(line)).toMatchObject({ address: 'shop' })
})
