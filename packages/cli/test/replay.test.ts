// cspell:ignore polcy
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { fakeClock } from '@spillway/conformance'
import type { Decision } from '@spillway/core'
import { httpGuard } from '@spillway/core/http'
import { policiesFrom } from '@spillway/core/rules'
import { memoryStore } from '@spillway/memory'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { commonParser } from '../src/log/common.ts'
import { type Entry, entryReader } from '../src/log/entry.ts'
import { jsonParser } from '../src/log/json.ts'
import { KeyNumbers } from '../src/replay/key-numbers.ts'
import { type DenialEvent, planOf } from '../src/replay/plan.ts'
import { Tally } from '../src/replay/tally.ts'
import { firstOf } from '../src/replay/top.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

const START = Date.UTC(2026, 0, 5)

describe('a replay', () => {
  const rules = [
    bucket('burst', { limit: 3, per: '3s', burst: 3 }),
    bucket(
      'paths',
      { limit: 4, window: '10s' },
      { algorithm: 'sliding_window', limit_keys: ['ip', 'header:x-key'], match: { path: '/a/*' } },
    ),
    bucket(
      'units',
      { limit: 9, window: '5s', cost_source: 'header:x-cost', default_cost: 2, max_cost: 6 },
      { algorithm: 'sliding_log', limit_keys: ['claim:user'] },
    ),
    bucket('trial', { limit: 1, window: '2s' }, { algorithm: 'fixed_window', mode: 'shadow' }),
    bucket('pro', { limit: 4, per: '9s' }, { tiers: 'plan', limit_keys: ['ip'], match: { 'claim:user': 'u' } }),
    bucket('free', { limit: 2, per: '9s' }, { tiers: 'plan', limit_keys: ['ip'] }),
  ]
  const lines = fc.array(
    fc.record({
      afterMs: fc.oneof(fc.constantFrom(0, 1, 1000), fc.nat(6000)),
      ip: fc.constantFrom('192.0.2.1', '2001:db8::1', '2001:db8::2'),
      path: fc.constantFrom('/a/b', '/A/b?c=d', '/b'),
      headers: fc.record(
        { 'x-key': fc.constantFrom('k', ''), 'x-cost': fc.constantFrom('1', '5', '99', 'x') },
        { requiredKeys: [] },
      ),
      user: fc.constantFrom('u', 'v'),
    }),
    { maxLength: 60 },
  )

  test('denies the requests that the middleware would have denied, line by line', async () => {
    const policies = policiesFrom(rules)
    await fc.assert(
      fc.asyncProperty(lines, async (log) => {
        const clock = fakeClock(START * 1000)
        const shadows: unknown[] = []
        const guard = httpGuard(
          {
            policies,
            store: memoryStore({ clock }),
            claims: (entry: Entry) => ({ user: entry.claim('user') }),
            onDecision: ({ mode, decision }) => {
              if (mode === 'shadow') shadows.push(decision.allowed)
            },
          },
          { ...entryReader, identity: () => ({}) },
        )
        const events: DenialEvent[] = []
        const plan = planOf('plan', policies, { onDenial: (event) => events.push(event) })
        const parse = jsonParser()
        for (const [i, { afterMs, ...fields }] of log.entries()) {
          clock.advance(afterMs)
          const entry = parse(JSON.stringify({ time: clock() / 1000, method: 'GET', ...fields })) as Entry
          const { decision } = await guard(entry)
          plan.replay(entry, entry.at, i, 'log')
          const found = events.filter(({ line }) => line === i)
          expect(found.filter(({ policy }) => policy !== 'trial').map(({ policy }) => policy)).toEqual(
            decision?.violated,
          )
          expect(found.some(({ policy }) => policy === 'trial')).toBe(shadows[i] === false)
          const longest = Math.max(
            0,
            ...found.filter(({ policy }) => policy !== 'trial').map(({ retryAfterMs }) => retryAfterMs),
          )
          expect(longest).toBe(decision?.retryAfterMs)
        }
        expect(plan.counts.counted).toBe(log.length)
      }),
    )
  })
})

test('requests without a claim count as one client', () => {
  const policies = policiesFrom([bucket('users', { limit: 1, per: '1h' }, { limit_keys: ['claim:user'] })])
  const events: DenialEvent[] = []
  const plan = planOf('plan', policies, { onDenial: (event) => events.push(event) })
  const parse = commonParser()
  for (const [i, user] of ['-', 'ann', '-', 'ann', 'bob'].entries()) {
    const entry = parse(`192.0.2.1 - ${user} [05/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1`) as Entry
    plan.replay(entry, entry.at, i, 'log')
  }
  expect(events.map(({ line, key }) => [line, key])).toEqual([
    [2, ''],
    [3, 'ann'],
  ])
  expect(plan.lanes[0]?.counts.keyless).toBe(2)
})

test('a replay counts only the statuses of count_if', () => {
  const rule = { name: 'login', limit_keys: ['ip'], count_if: [401], algorithm: 'penalty' }
  const policies = policiesFrom([{ ...rule, algorithm_config: { after: 2, within: '1m', block: '1h' } }])
  const events: DenialEvent[] = []
  const plan = planOf('plan', policies, { onDenial: (event) => events.push(event) })
  const parse = jsonParser()
  for (const [i, status] of [200, 401, 200, 200, 401, 200, 401].entries()) {
    const line = { time: START + i, method: 'POST', path: '/login', ip: '203.0.113.7', status }
    plan.replay(parse(JSON.stringify(line)) as Entry, (START + i) * 1000, i, 'log')
  }
  expect(events.map(({ line }) => line)).toEqual([5, 6])
})

test('a replay leaves out slots, and says why', async () => {
  const slots = bucket('slots', { limit: 1 }, { algorithm: 'in_flight' })
  const line = '203.0.113.7 - - [05/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1\n'
  const files = { 'a.log': line, 'both.json': [slots, bucket('rate', { rps: 5 })], 'slots.json': [slots] }
  const { path, remove } = folderOf(
    Object.fromEntries(
      Object.entries(files).map(([name, file]) => [name, typeof file === 'string' ? file : JSON.stringify(file)]),
    ),
  )
  const why = 'cannot be replayed: logs do not say how long requests were in flight'
  const both = await spillway(['replay', path('a.log'), '--policy', path('both.json'), '--json'])
  expect([both.exitCode, both.err]).toEqual([0, expect.stringContaining(why)])
  expect(JSON.parse(both.out).plans[0].policies).toHaveLength(1)
  const alone = await spillway(['replay', path('a.log'), '--policy', path('slots.json')])
  expect(alone).toMatchObject({ exitCode: 2, err: expect.stringContaining(why) })
  remove()
})

test('a replay counts the months of the log, in the time zone of the policy', () => {
  const policies = policiesFrom([
    {
      name: 'plan',
      limit_keys: ['ip'],
      algorithm: 'calendar_window',
      algorithm_config: { limit: 2, unit: 'month', time_zone: 'Europe/Berlin' },
    },
  ])
  const events: DenialEvent[] = []
  const plan = planOf('plan', policies, { onDenial: (event) => events.push(event) })
  const parse = jsonParser()
  // March in Berlin is from 23:00 to 22:00 UTC: summer time begins in it.
  const times = [
    '02-28T22:59',
    '02-28T23:00',
    '03-01T00:00',
    '03-31T21:59',
    '03-31T22:00',
    '03-31T23:59',
    '04-01T00:00',
  ]
  for (const [i, time] of times.entries()) {
    const ms = Date.parse(`2019-${time}:00Z`)
    const line = { time: ms, method: 'GET', path: '/', ip: '192.0.2.1' }
    plan.replay(parse(JSON.stringify(line)) as Entry, ms * 1000, i, 'log')
  }
  expect(events.map(({ line }) => line)).toEqual([3, 6])
})

test('a replay draws upon a spill policy as the middleware does', async () => {
  const policies = policiesFrom([
    bucket('burst', { limit: 2, per: '2s', burst: 2 }, { spill: 'extra' }),
    bucket('hour', { limit: 30, window: '1h' }, { algorithm: 'sliding_log' }),
    bucket('extra', { limit: 5, per: '20s', burst: 5 }),
  ])
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(900), { maxLength: 60 }), async (spans) => {
      const clock = fakeClock(START * 1000)
      const guard = httpGuard({ policies, store: memoryStore({ clock }) }, { ...entryReader, identity: () => ({}) })
      const events: DenialEvent[] = []
      const plan = planOf('plan', policies, { onDenial: (event) => events.push(event) })
      const parse = jsonParser()
      for (const [i, afterMs] of spans.entries()) {
        clock.advance(afterMs)
        const line = { time: clock() / 1000, method: 'GET', path: '/', ip: '192.0.2.1' }
        const entry = parse(JSON.stringify(line)) as Entry
        const { decision } = await guard(entry)
        plan.replay(entry, entry.at, i, 'log')
        const found = events.filter((event) => event.line === i).map(({ policy }) => policy)
        expect(found.toSorted()).toEqual(decision?.violated.toSorted())
      }
      expect(plan.counts.denied).toBe(new Set(events.map(({ line }) => line)).size)
    }),
  )
})

describe('the counts of keys', () => {
  const decision = (allowed: boolean, remaining: number) =>
    ({ allowed, remaining, limit: 4, retryAfterMs: 250 }) as Decision
  const KEYS = 150_000

  test('beyond the limit are of each key once', () => {
    const tally = new Tally()
    for (let i = 0; i < 3 * KEYS; i++) tally.record(tally.of(`10.0.${i % KEYS}`), i, decision(true, 3))
    expect(tally.exact).toBe(false)
    expect(Math.abs(tally.size / KEYS - 1)).toBeLessThan(0.01)
  })

  test('are kept if the key was denied or followed, while others are evicted', () => {
    const tally = new Tally(['followed'])
    const important = ['followed', ...Array.from({ length: 600 }, (_, i) => `denied-${i}`)]
    for (const [i, key] of important.entries()) tally.record(tally.of(key), i, decision(key === 'followed', 4))
    for (let i = 0; i < KEYS; i++) tally.record(tally.of(`${i}`), 1e6 + i, decision(true, 3))
    const kept = tally.all().slice(0, important.length)
    expect(tally.exact).toBe(false)
    expect(kept.map(({ key }) => key)).toEqual(important)
    expect(kept[0]).toMatchObject({ requests: 1, denied: 0, leastRemaining: 4, followed: expect.anything() })
    expect(kept[600]).toEqual({
      key: 'denied-599',
      requests: 1,
      denied: 1,
      firstDeniedAt: 600,
      lastDeniedAt: 600,
      longestRetryMs: 250,
      leastRemaining: 4,
      leastAt: 600,
      followed: undefined,
    })
  })
})

test('keys are numbered as a Map numbers them', () => {
  const text = fc.oneof(
    fc.string({ minLength: 0, maxLength: 100, unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('\0', 'a', 'é', 'Ā'), maxLength: 60 }),
  )
  fc.assert(
    fc.property(fc.array(text, { maxLength: 40 }), fc.constantFrom(0, 1_000, 2_500), (texts, others) => {
      const numbers = new KeyNumbers()
      const known = new Map<string, number>()
      const keys = [...texts, ...Array.from({ length: others }, (_, i) => `10.0.${i >> 8}.${i & 255}`), ...texts]
      const wrong = keys.filter((key) => {
        const found = numbers.find(key)
        const expected = known.get(key) ?? -1
        if (expected < 0) known.set(key, numbers.add(key))
        return found !== expected
      })
      expect(wrong).toEqual([])
      expect([numbers.texts, [...known.values()]]).toEqual([[...known.keys()], numbers.texts.map((_, i) => i)])
    }),
    { numRuns: 10 },
  )
})

test('the first items of an order are those of a sorted copy', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat())), fc.integer({ min: 1, max: 12 }), (items, count) => {
      const order = ([a]: [number, number], [b]: [number, number]): number => b - a
      expect(firstOf(items, count, order)).toEqual(items.toSorted(order).slice(0, count))
    }),
  )
})

const line = (second: number, address: string, path = '/'): string =>
  `${address} - - [05/Jan/2026:00:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')} +0000] "GET ${path} HTTP/1.1" 200 1`

const log = [
  ...Array.from({ length: 10 }, (_, i) => line(i, '192.0.2.1')),
  ...Array.from({ length: 8 }, () => line(30, '192.0.2.2', '/free')),
  ...Array.from({ length: 8 }, () => line(30, '192.0.2.3')),
  'nonsense \u001b[31m',
  line(20, '192.0.2.4'),
].join('\n')

const folder = folderOf({
  'access.log': log,
  'tight.json': JSON.stringify([bucket('tight', { limit: 6, per: '1h', burst: 6 }, { match: { path: '/' } })]),
  'loose.json': JSON.stringify({ rules: [bucket('loose', { limit: 10, per: '1h', burst: 10 })] }),
  'queue.json': JSON.stringify([bucket('queue', { limit: 1, per: '1s', queue: 5 }, { algorithm: 'leaky_bucket' })]),
  'users.json': JSON.stringify([
    bucket('users', { limit: 100, per: '1h', burst: 100 }, { limit_keys: ['header:x-user'] }),
  ]),
  'broken.json': '[{"name":"x"}]',
  'access.json': `${JSON.stringify({ when: START, from: { ip: '192.0.2.9' }, to: '/', proxied: '198.51.100.1, 192.0.2.7' })}\n`,
})
afterAll(() => folder.remove())

const args = (...policies: string[]): string[] => [
  'replay',
  folder.path('access.log'),
  // One line of 28 is invalid.
  '--unreadable-at-most',
  '5%',
  ...policies.flatMap((name) => ['--policy', folder.path(`${name}.json`)]),
]

describe('spillway replay', () => {
  test('reports which clients would have been denied, when, and which came close', async () => {
    const { exitCode, out, err } = await spillway(args('tight'))
    const shown = out.replaceAll(`${folder.path('')}/`, '')
    expect([exitCode, err]).toEqual([0, ''])
    expect(shown).toMatchInlineSnapshot(`
      "27 requests in 28 lines, format: combined
      2026-01-05 00:00:00 to 2026-01-05 00:00:30 UTC
      1 line could not be read:
        access.log:27 it has no time in brackets: nonsense
        �[31m
      1 request comes late, by up to 10 s: each counts when it is logged.

      tight  13 allowed, 6 denied (31.6 %), 8 not counted
        denied over time       ████                    ▂

        tight  Each client address may make 6 requests at once, and then 6 an hour,
        counting requests to /.
        denies 6 of 19 (31.6 %), 2 of 3 keys

          denied most  denied  of  share  first (UTC)      last        wait
          192.0.2.1         4  10   40 %     00:00:06  00:00:09  9 min 54 s
          192.0.2.3         2   8   25 %     00:00:30  00:00:30      10 min

          by path    / 6
          by method  GET 6
          by status  200 6
          by hour    00:00 6

          closest to a denial  remaining  of  requests  when (UTC)
          192.0.2.4                    5   6         1    00:00:30

        suggested: 10 per hour, which denies 0 (0 %)
          { "limit": 10, "per": "1h", "burst": 10 }
      "
    `)
  })

  // What there is none of is not named: "0 lines could not be read" once was not missed.
  test('of a clean log reports its requests and its times alone', async () => {
    const clean = folderOf({ 'a.log': [line(0, '192.0.2.1'), line(5, '192.0.2.1')].join('\n') })
    const { out } = await spillway(['replay', clean.path('a.log'), '--policy', folder.path('loose.json')])
    clean.remove()
    expect(out).toMatchInlineSnapshot(`
      "2 requests in 2 lines, format: combined
      2026-01-05 00:00:00 to 2026-01-05 00:00:05 UTC

      loose  2 allowed, 0 denied (0 %)

        loose  Each client address may make 10 requests at once, and then 10 an hour.
        denies 0 of 2 (0 %), 0 of 1 key

          closest to a denial  remaining  of  requests  when (UTC)
          192.0.2.1                    8  10         2    00:00:05
      "
    `)
  })

  // It headed a table without rows if the condition was left out.
  test('shows who came close only if there is one', async () => {
    const few = folderOf({
      'a.log': Array.from({ length: 10 }, (_, i) => line(i, '192.0.2.1')).join('\n'),
      'p.json': JSON.stringify([bucket('p', { limit: 9, per: '1h', burst: 9 })]),
    })
    const { out } = await spillway(['replay', few.path('a.log'), '--policy', few.path('p.json')])
    few.remove()
    expect(out).toContain('suggested: 10 per hour')
    expect(out).not.toContain('closest to a denial')
  })

  test('compares policies side by side, as JSON', async () => {
    const { out } = await spillway([...args('tight', 'loose'), '--json'])
    const { plans } = JSON.parse(out)
    expect(plans.map(({ name, counted, denied }: Record<string, unknown>) => [name, counted, denied])).toEqual([
      ['tight', 19, 6],
      ['loose', 27, 0],
    ])
    expect(plans[1].policies[0].closest[0]).toMatchObject({ key: '192.0.2.1', leastRemaining: 0, requests: 10 })
  })

  test('follows a key from its first request when it is named, an address by its network', async () => {
    const sixes = folderOf({
      'a.log': [0, 1, 2].map((second) => line(second, '2001:db8::1')).join('\n'),
      'p.json': JSON.stringify([bucket('p', { limit: 100, per: '1h', burst: 100 })]),
    })
    const replayed = ['replay', sixes.path('a.log'), '--policy', sixes.path('p.json'), '--json']
    const followed = async (...more: string[]) =>
      JSON.parse((await spillway([...replayed, ...more])).out).plans[0].policies[0].followed
    expect(await followed()).toEqual([])
    expect(await followed('--key', '2001:db8::77')).toMatchObject([
      { key: '2001:db8:0:0:0:0:0:0/56', leastRemaining: [99, 98, 97], mostRemaining: [99, 98, 97], denied: [0, 0, 0] },
    ])
    sixes.remove()
  })

  test('fails if more requests are denied than allowed', async () => {
    expect((await spillway([...args('loose'), '--deny-at-most', '0%'])).exitCode).toBe(0)
    expect((await spillway([...args('tight'), '--deny-at-most', '40%'])).exitCode).toBe(0)
    const { exitCode, err } = await spillway([...args('tight'), '--deny-at-most', '30%'])
    expect([exitCode, err]).toEqual([99, '"tight" denies more than 30% of the requests that it counts.\n'])
  })

  test('writes every denied request, with its line', async () => {
    const path = folder.path('denials.ndjson')
    await spillway([...args('tight'), '--denials', path])
    const events = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text))
    expect(events.map(({ line, key }) => [line, key])).toEqual([
      ...[7, 8, 9, 10].map((line) => [line, '192.0.2.1']),
      ...[25, 26].map((line) => [line, '192.0.2.3']),
    ])
    expect(events[0]).toEqual({
      plan: 'tight',
      file: folder.path('access.log'),
      line: 7,
      at: '2026-01-05T00:00:06.000Z',
      policy: 'tight',
      key: '192.0.2.1',
      cost: 1,
      retryAfterMs: 594_000,
    })
  })

  test('reports delays, and requests without a key', async () => {
    const { out } = await spillway(args('queue', 'users'))
    expect(out).toContain('denies 4 of 27 (14.8 %), 2 of 4 keys, 10 are delayed, up to 5 s')
    expect(out).toContain('Policy "users": 27 of 27 requests have no key; they count as one client.')
    expect(out).toContain('The log has whole seconds')
  })

  test('reads standard input, fields by name and clients behind proxies', async () => {
    const named = [
      '--field',
      'time=when',
      '--field',
      'ip=from.ip',
      '--field',
      'path=to',
      '--field',
      'header:X-Forwarded-For=proxied',
    ]
    const replay = ['replay', '--policy', folder.path('loose.json'), '--json', ...named]
    const keysOf = async (...more: string[]) => {
      const { out } = await spillway([...replay, ...more], {
        stdin: Readable.from([readFileSync(folder.path('access.json'))]),
      })
      return JSON.parse(out).plans[0].policies[0].busiest.map(({ key }: { key: string }) => key)
    }
    expect(await keysOf()).toEqual(['192.0.2.9'])
    expect(await keysOf('--trust-proxy', '1')).toEqual(['192.0.2.7'])
    expect(await keysOf('--trust-proxy', '2')).toEqual(['198.51.100.1'])
  })

  test.each<[string, string[], number, string]>([
    ['no policy', ['replay', 'a.log'], 2, "required option '--policy <file>' not specified"],
    ['an unknown option', [...args('tight'), '--polcy', 'x'], 2, 'Did you mean --policy?'],
    ['a policy that is not there', ['replay', '--policy', 'none.json'], 2, 'none.json cannot be read'],
    ['an invalid policy', args('broken'), 1, 'broken.json: '],
    [
      'a log that is not there',
      ['replay', 'none.log', '--policy', folder.path('tight.json')],
      2,
      'none.log cannot be read',
    ],
    ['an unknown format', [...args('tight'), '--format', 'xml'], 2, '--format is auto, combined,'],
    ['an invalid field', [...args('tight'), '--field', 'ip'], 2, '--field maps time'],
    ['a share that may be either', [...args('tight'), '--deny-at-most', '0.1'], 2, 'write 0.1% or 10%; got "0.1"'],
    [
      'an invalid share',
      [...args('tight'), '--deny-at-most', '200%'],
      2,
      '--deny-at-most is a percentage such as 0.1%',
    ],
    [
      'an invalid number',
      [...args('tight'), '--max-keys', '0'],
      2,
      'It must be a whole number from 1 to 100000000; got "0"',
    ],
  ])('rejects %s', async (_, args, exitCode, message) => {
    const ran = await spillway(args)
    expect(ran.exitCode).toBe(exitCode)
    expect(ran.err).toContain(message)
    expect(ran.out).toBe('')
  })

  test('is coloured, with a bar, only on a terminal', async () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
    const codes = /\u001b/
    const ran = async (setting: object) => {
      const { out, err } = await spillway(args('tight'), setting)
      return [codes.test(out), codes.test(err)]
    }
    expect(await ran({ isTTY: false })).toEqual([false, false])
    expect(await ran({ isTTY: true })).toEqual([true, true])
    expect(await ran({ isTTY: true, env: { NO_COLOR: '1' } })).toEqual([false, true])
  })

  test('draws a self-contained report that escapes the text of a log', async () => {
    const evil = `<script>alert("1")</script>'"&`
    const evilFolder = folderOf({
      'a.log': Array.from({ length: 30 }, (_, i) => JSON.stringify({ time: START + i * 1000, ip: evil })).join('\n'),
      'b.json': JSON.stringify([bucket('<b>', { limit: 6, per: '1h', burst: 6 })]),
    })
    const path = evilFolder.path('report.html')
    const { err } = await spillway([
      'replay',
      evilFolder.path('a.log'),
      '--policy',
      evilFolder.path('b.json'),
      '--policy',
      folder.path('loose.json'),
      '--html',
      path,
    ])
    const page = readFileSync(path, 'utf8')
    evilFolder.remove()
    expect(err).toContain('The report is in ')
    expect(page).not.toContain('<script>alert')
    expect(page).not.toContain('<b><')
    expect(page).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;')
    expect([...page.matchAll(/\b(?:src|href|url)\b\s*[=(]/g)]).toEqual([])
    expect(page).toContain('default-src &#39;none&#39;')
    for (const text of ['Side by side', 'Requests per second', 'Share denied', 'Denied most', 'Remaining units of'])
      expect(page).toContain(text)
    expect(page.match(/<svg class="chart"/g)).toHaveLength(1 + 2 * 3)
  })
})

// It counted the first value, and denied the clients that others had named.
test('a repeated query parameter whose values differ counts as missing, as in the middleware', async () => {
  const files = folderOf({
    'p.json': JSON.stringify([bucket('user', { limit: 1, per: '1h' }, { limit_keys: ['query:user'] })]),
    'a.log': ['?user=ann&user=bob', '?user=carl&user=bob', '?user=dave&user=bob', '?user=ann']
      .map((query) => `192.0.2.1 - - [05/Jan/2026:00:00:00 +0000] "GET /${query} HTTP/1.1" 200 1`)
      .join('\n'),
  })
  const { out } = await spillway(['replay', files.path('a.log'), '--policy', files.path('p.json'), '--json'])
  files.remove()
  expect(JSON.parse(out).plans[0]).toMatchObject({ counted: 4, denied: 2 })
})
