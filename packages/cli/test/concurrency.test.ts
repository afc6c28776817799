import { inFlight, type Slot } from '@spillway/core/in-flight'
import { memoryStore, rateLimiter } from '@spillway/memory'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { durationOf } from '../src/log/duration.ts'
import type { Entry } from '../src/log/entry.ts'
import { lineReader } from '../src/log/formats.ts'
import { type Concurrency, Flights } from '../src/replay/flights.ts'

// How many requests were in flight at once, from the durations of a log.

/** Where an entry's request began and how long it took, in milliseconds after midnight. */
function flightIn(line: string, format = 'auto', fields = {}): readonly [fromMs: number, tookMs: number] | undefined {
  const entry = lineReader(format, fields).read(line, 1) as Entry
  const { at, took, isTimeOfStart } = entry
  if (took === undefined) return undefined
  return [((isTimeOfStart ? at : at - took) - Date.UTC(2026, 0, 5, 15) * 1000) / 1000, took / 1000]
}

describe('the duration of a request', () => {
  const nginx = '$remote_addr [$time_iso8601] "$request" $status $request_time'
  const apache = (field: string): string => `%h [%{msec}t] "%r" %>s ${field}`
  const start = Date.UTC(2026, 0, 5, 15, 0, 10)
  test.each<readonly [string, string, string, readonly [number, number] | undefined]>([
    ['nginx', nginx, '192.0.2.1 [2026-01-05T15:00:10+00:00] "GET / HTTP/1.1" 200 0.250', [9_750, 250]],
    ['Apache, µs', apache('%D'), `192.0.2.1 [${start}] "GET / HTTP/1.1" 200 250000`, [10_000, 250]],
    ['Apache, s', apache('%T'), `192.0.2.1 [${start}] "GET / HTTP/1.1" 200 2`, [10_000, 2_000]],
    ['Apache, ms', apache('%{ms}T'), `192.0.2.1 [${start}] "GET / HTTP/1.1" 200 250`, [10_000, 250]],
    [
      'nginx as JSON',
      'auto',
      '{"time":"2026-01-05T15:00:10Z","ip":"192.0.2.1","status":200,"request_time":"0.250"}',
      [9_750, 250],
    ],
    [
      'Caddy',
      'auto',
      '{"ts":1767625210.25,"request":{"remote_ip":"192.0.2.1","method":"GET","uri":"/"},"duration":0.25,"status":200}',
      [10_000, 250],
    ],
    [
      'pino',
      'auto',
      '{"time":1767625210250,"req":{"id":1,"method":"GET","url":"/","remoteAddress":"192.0.2.1"},"res":{"statusCode":200},"responseTime":250}',
      [10_000, 250],
    ],
    [
      'Traefik',
      'auto',
      '{"ClientHost":"192.0.2.1","DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/","StartUTC":"2026-01-05T15:00:10Z","Duration":250000000}',
      [10_000, 250],
    ],
    ['text with a unit', 'auto', '{"time":"2026-01-05T15:00:10Z","path":"/","latency":"250.0ms"}', [9_750, 250]],
    ['no unit', 'auto', '{"time":"2026-01-05T15:00:10Z","path":"/","latency":250}', undefined],
    [
      'Envoy',
      'auto',
      '[2026-01-05T15:00:10.000Z] "GET / HTTP/2" 200 - 154 512 250 2 "203.0.113.66" "curl" "id" "example.com" "10.0.2.1:80"',
      [10_000, 250],
    ],
    [
      'an Application Load Balancer',
      'auto',
      'https 2026-01-05T15:00:10.250000Z app/shop/1 203.0.113.66:41342 10.0.0.1:80 0.001 0.248 0.001 200 200 34 512 "GET https://example.com:443/ HTTP/1.1" "curl" x y z "Root=1" "example.com" ',
      [10_000, 250],
    ],
    [
      'one that a target has not answered',
      'auto',
      'https 2026-01-05T15:00:10.250000Z app/shop/1 203.0.113.66:41342 10.0.0.1:80 0.001 -1 -1 502 - 34 512 "GET https://example.com:443/ HTTP/1.1" "curl" x y z "Root=1" "example.com" ',
      undefined,
    ],
  ])('is read: %s', (_, format, line, expected) => {
    const held = lineReader(format, {})
    const parsed = held.read(line, 1)
    const entries = Array.isArray(parsed) && parsed.length === 0 ? held.end() : parsed
    const entry = (Array.isArray(entries) ? entries[0]?.entry : entries) as Entry
    const { at, took, isTimeOfStart } = entry
    const from = took === undefined ? undefined : (isTimeOfStart ? at : at - took) - Date.UTC(2026, 0, 5, 15) * 1000
    expect(from === undefined ? undefined : [from / 1000, (took as number) / 1000]).toEqual(expected)
  })

  test('can be mapped', () => {
    expect(flightIn('{"time":"2026-01-05T15:00:10Z","path":"/","t":250}', 'json', { 'took:ms': 't' })).toEqual([
      9_750, 250,
    ])
  })

  test.each<readonly [unknown, number | undefined]>([
    ['0.25', 250_000],
    ['-1', undefined],
    ['-', undefined],
    [-0.25, undefined],
    [Number.NaN, undefined],
    [1e300, undefined],
    ['1e3', undefined],
    ['', undefined],
    ['12µs', 12],
    ['1m', 60e6],
    [null, undefined],
    [{}, undefined],
  ])('%j in seconds is %s µs', (value, expected) => {
    expect(durationOf(value, 's')).toBe(expected)
  })
})

type Request = readonly [key: string, fromMs: number, tookMs: number | undefined]

function concurrencyOf(requests: readonly Request[], isTimeOfStart = false): Concurrency | undefined {
  const flights = new Flights()
  for (const [key, from, took] of requests) {
    const at = (1e9 + from + (isTimeOfStart ? 0 : (took ?? 0))) * 1000
    flights.add(key, { at, took: took === undefined ? undefined : took * 1000, isTimeOfStart } as Entry)
  }
  return flights.result((key) => key)
}

/** The keys of the requests that a limiter with so many slots denies. */
async function deniedBy(
  limit: number,
  all: readonly (readonly [string, number, number])[],
): Promise<readonly string[]> {
  const limiter = rateLimiter({ quota: inFlight(limit), store: memoryStore({ clock: () => 1e12 }) })
  const events = all
    .flatMap(([key, from, took], i) => [
      { at: from, key, i, isEnd: false },
      { at: from + took, key, i, isEnd: true },
    ])
    .sort((a, b) => a.at - b.at || Number(b.isEnd) - Number(a.isEnd) || endOf(a.i) - endOf(b.i))
  function endOf(i: number): number {
    const [, from, took] = all[i] as readonly [string, number, number]
    return from + took
  }
  const slots = new Map<number, Slot>()
  const hit: string[] = []
  for (const { key, i, isEnd } of events) {
    if (isEnd) {
      await slots.get(i)?.release()
      continue
    }
    const slot = await limiter.acquire(key)
    if (slot.allowed) slots.set(i, slot)
    else hit.push(key)
  }
  return hit
}

describe('in flight at once', () => {
  test('is counted by key; one that ends when another begins is not in flight with it', () => {
    const result = concurrencyOf([
      ['a', 1, 100],
      ['a', 51, 100],
      ['a', 101, 899],
      ['b', 5, 5],
      ['b', 10, 5],
      ['c', 3, undefined],
    ]) as Concurrency
    expect(result).toMatchObject({ requests: 5, withoutDuration: 1, longerThanLog: 0, isSpread: false })
    expect(result.keys).toEqual([
      // 1,099 ms in flight, of 999 ms.
      { key: 'a', requests: 3, max: 2, p99: 2, mean: 1099 / 999 },
      { key: 'b', requests: 2, max: 1, p99: 1, mean: 10 / 999 },
    ])
    expect(result.limits).toEqual([
      { limit: 1, denied: 1, keys: 1 },
      { limit: 2, denied: 0, keys: 0 },
    ])
  })

  test('does not depend on the order of the lines, nor on whether they have the time of the start or of the end', () => {
    const requests = fc.array(
      fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 200 })),
      { minLength: 1, maxLength: 40 },
    )
    fc.assert(
      fc.property(requests, (all) => {
        const byEnd = [['x', 0, 1] as const, ...all].toSorted((a, b) => a[1] + a[2] - b[1] - b[2])
        const byStart = byEnd.toSorted((a, b) => a[1] - b[1])
        const [one, other] = [concurrencyOf(byEnd), concurrencyOf(byStart, true)]
        expect(other?.limits).toEqual(one?.limits)
        expect(new Set(other?.keys)).toEqual(new Set(one?.keys))
      }),
    )
  })

  test('what slots would have denied is what a limiter denies', async () => {
    const requests = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat(300), fc.integer({ min: 1, max: 200 })), {
      minLength: 1,
      maxLength: 30,
    })
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        for (const { limit, denied, keys } of concurrencyOf([['x', 0, 1], ...all])?.limits ?? []) {
          const hit = await deniedBy(limit, all)
          expect([denied, keys]).toEqual([hit.length, new Set(hit).size])
        }
      }),
      { numRuns: 30 },
    )
  })

  test('of a log with whole seconds is spread over each: ten short requests of a second are not at once', () => {
    const flights = new Flights()
    for (let i = 0; i < 10; i++) flights.add('a', { at: 5e6, took: 50_000 } as Entry)
    const result = flights.result((key) => key)
    expect(result).toMatchObject({ isSpread: true, keys: [{ max: 1 }] })
  })

  test('says if durations are longer than the log, and survives those that began before 1970', () => {
    expect(
      concurrencyOf([
        ['a', 0, 1],
        ['a', 5, 30_000],
      ]),
    ).toMatchObject({ longerThanLog: 0 })
    const flights = new Flights()
    flights.add('a', { at: 1e6 + 1, took: 1e15 } as Entry)
    flights.add('a', { at: 1e15 + 1, took: 900e12 } as Entry)
    flights.add('a', { at: 1e15 + 2, took: 5 } as Entry)
    expect(flights.result((key) => key)).toMatchObject({ requests: 2, withoutDuration: 1, longerThanLog: 1 })
    expect(new Flights().result((key) => key)).toBeUndefined()
  })
})
