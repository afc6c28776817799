import { readFileSync } from 'node:fs'
import { policiesFrom } from '@spillway/core/rules'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { Entry } from '../src/log/entry.ts'
import { jsonParser } from '../src/log/json.ts'
import { planOf } from '../src/replay/plan.ts'
import { Spool } from '../src/suggest/spool.ts'
import { temporaryFile } from '../src/suggest/temporary-file.ts'
import { PERIODS, type Period, tightest } from '../src/suggest/tightest.ts'
import { hasWhatIf, whatIf } from '../src/suggest/what-if.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

const START = Date.UTC(2026, 0, 5)

interface Request {
  readonly afterMs: number
  readonly ip: string
}

/** The requests that a quota denies in a replay. */
function replayed(log: readonly Request[], limit: number, per: Period): number {
  const plan = planOf('plan', policiesFrom([bucket('p', { limit, per: PERIODS[per], burst: limit })]))
  const parse = jsonParser()
  let time = START
  for (const { afterMs, ip } of log) {
    time += afterMs
    const entry = parse(JSON.stringify({ time, ip })) as Entry
    plan.replay(entry, entry.at, 0, 'log')
  }
  return plan.counts.denied
}

function spoolOf(log: readonly Request[], room?: number): Spool {
  const spool = new Spool(room === undefined ? undefined : temporaryFile, room)
  let at = START * 1000
  for (const { afterMs, ip } of log) {
    at += afterMs * 1000
    spool.add(ip, at)
  }
  return spool
}

const logs = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constantFrom(0, 0, 1, 100), fc.nat(90_000)),
    ip: fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3'),
  }),
  { minLength: 1, maxLength: 80 },
)

test('a suggestion denies no more than wanted, and the next lower limit would', () => {
  fc.assert(
    fc.property(logs, fc.constantFrom<Period>('second', 'minute', 'hour', 'day'), fc.nat(10), (log, per, most) => {
      const { limit, denied } = tightest(spoolOf(log), per, most)
      expect(denied).toBeLessThanOrEqual(most)
      expect(replayed(log, limit, per)).toBe(denied)
      if (limit > 1) expect(replayed(log, limit - 1, per)).toBeGreaterThan(most)
    }),
  )
})

const FULL = { limit: 6, per: '1h', burst: 6 }

// Each differs in one way alone from the first.
test.each<[of: string, rule: object, expected: boolean]>([
  ['a bucket', bucket('a', FULL), true],
  ['a cost of one, as written', bucket('a', { ...FULL, cost_source: 'fixed', fixed_cost: 1 }), true],
  ['another cost', bucket('a', { ...FULL, cost_source: 'fixed', fixed_cost: 2 }), false],
  ['a cost of the request', bucket('a', { ...FULL, cost_source: 'query:n', max_cost: 5 }), false],
  ['a smaller burst', bucket('a', { ...FULL, burst: 5 }), true],
  ['a larger burst', bucket('a', { ...FULL, burst: 7 }), true],
  ['a refill by period', bucket('a', { ...FULL, refill: '1h' }), false],
  ['another first fill', bucket('a', { ...FULL, initial: 1 }), false],
  ['an overdraft', bucket('a', { ...FULL, overdraft: 1 }), false],
  ['a spill over', bucket('a', FULL, { spill: 'b' }), false],
  ['a queue', bucket('a', { limit: 6, per: '1h', queue: 5 }, { algorithm: 'leaky_bucket' }), false],
  ['a window', bucket('a', { limit: 6, window: '1h' }, { algorithm: 'fixed_window' }), false],
  ['a log', bucket('a', { limit: 6, window: '1h' }, { algorithm: 'sliding_log' }), false],
  ['a warm-up', bucket('a', { limit: 6, per: '1h', warm_up_period: '1h' }, { algorithm: 'warming_up' }), false],
  ['a penalty', bucket('a', { after: 6, within: '1h', block: '1h' }, { algorithm: 'penalty' }), false],
])('other limits are tried for token buckets only: %s', (_, rule, expected) => {
  const [policy] = policiesFrom([rule, ...('spill' in rule ? [bucket('b', FULL)] : [])])
  expect(policy && hasWhatIf(policy)).toBe(expected)
})

test('24 limits in equal ratios are tried, up to the lowest that denies nothing', () => {
  const atOnce = Array.from({ length: 100 }, () => ({ afterMs: 0, ip: '192.0.2.1' }))
  const { suggested, limits } = whatIf(spoolOf(atOnce), 60_000_000, 10, true)
  expect(suggested).toEqual({ limit: 90, denied: 10, keys: 1 })
  // Rounded, the first three of the 24 are 1.
  const tried = [1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 16, 20, 25, 30, 37, 45, 55, 67, 82, 100]
  expect(limits).toEqual(tried.map((limit) => ({ limit, denied: 100 - limit, keys: limit < 100 ? 1 : 0 })))
  expect(whatIf(spoolOf(atOnce), 60_000_000, 10, false).limits).toEqual([])
})

test('requests beyond the memory limit are read from a file, in the same order', () => {
  fc.assert(
    fc.property(logs, (log) => {
      const read = (spool: Spool): unknown => {
        const seen: unknown[] = []
        spool.each((at, key) => seen.push([at, key]) < 60)
        return [seen, spool.size, spool.totals]
      }
      const small = spoolOf(log, 7)
      expect(read(small)).toEqual(read(spoolOf(log)))
      expect(read(small)).toEqual(read(spoolOf(log)))
      small.close()
    }),
    { numRuns: 30 },
  )
})

describe('spillway suggest', () => {
  // 10 per second deny the eleventh of 20 requests in one second; the other address sends fewer.
  const lines = [
    ...Array.from({ length: 20 }, () => ({ time: START, ip: '192.0.2.1', http_x_key: 'k' })),
    ...Array.from({ length: 80 }, (_, i) => ({ time: START + i * 1000, ip: '192.0.2.2' })),
  ]
  const folder = folderOf({ 'a.log': `${lines.map((line) => JSON.stringify(line)).join('\n')}\nx\n`, 'empty.log': '' })
  afterAll(() => folder.remove())
  const log = folder.path('a.log')

  test('prints the tightest quotas, each on its own', async () => {
    const { exitCode, out } = await spillway(['suggest', log, '--deny-at-most', '10%'])
    expect(exitCode).toBe(0)
    expect(out).toMatchInlineSnapshot(`
      "100 requests in 101 lines, format: json
      2026-01-05 00:00:00 to 2026-01-05 00:01:19 UTC
      1 line could not be read
      The tightest quotas that would have denied at most 10 of them, each on its own:

        ip, 2 keys
          quota        denied  share  keys
          10 a second      10   10 %     1
          31 a minute       9    9 %     1
          69 an hour       10   10 %     1
          70 a day         10   10 %     1
      "
    `)
  })

  test('counts by any selector, and reports requests without the key', async () => {
    const { out } = await spillway(['suggest', log, '--key', 'header:x-key', '--key', 'ip', '--per', 'minute'])
    expect(out).toContain('header:x-key, 2 keys  80 requests have no key, and count as one client')
    expect(out.match(/a minute/g)).toHaveLength(2)
  })

  test('writes policies whose replay confirms the suggestion', async () => {
    const path = folder.path('policies.json')
    const { out } = await spillway([
      'suggest',
      log,
      '--deny-at-most',
      '5%',
      '--per',
      'second',
      '--json',
      '--output',
      path,
    ])
    const { rules, selectors, denyAtMost } = JSON.parse(out)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ rules })
    expect([denyAtMost, selectors[0].suggestions]).toEqual([5, [{ per: 'second', limit: 15, denied: 5, keys: 1 }]])
    const replayed = await spillway(['replay', log, '--policy', path, '--deny-at-most', '5%', '--json'])
    expect([replayed.exitCode, JSON.parse(replayed.out).plans[0].denied]).toEqual([0, 5])
  })

  // Reproduces a bug: `check` and `replay` reported the names of these policies as invalid, or as taken.
  test.each<[string, readonly string[], readonly string[]]>([
    ['with other letters', ['claim:größe', 'claim:grüße'], ['claim:gr__e per day', 'claim:gr__e per day 2']],
    ['twice', ['ip', 'ip'], ['ip per day']],
    [
      'that is long',
      [`header:${'x'.repeat(90)}`, `header:${'x'.repeat(91)}`],
      [`header:${'x'.repeat(73)} per day`, `header:${'x'.repeat(73)} per day 2`],
    ],
  ])('writes policies with valid names for a selector %s', async (_, keys, names) => {
    const path = folder.path('names.json')
    const selectors = keys.flatMap((key) => ['--key', key])
    await spillway(['suggest', log, '--per', 'day', ...selectors, '--unreadable-at-most', '100%', '--output', path])
    expect(policiesFrom(JSON.parse(readFileSync(path, 'utf8'))).map(({ name }) => name)).toEqual(names)
  })

  test('suggests nothing for an empty log, and rejects invalid options', async () => {
    expect((await spillway(['suggest', folder.path('empty.log')])).out).toContain('0 requests in 0 lines')
    expect((await spillway(['suggest', log, '--per', 'week'])).err).toContain(
      '--per is one of second, minute, hour, day',
    )
    expect((await spillway(['suggest', log, '--key', 'address'])).err).toContain('--key is a selector such as ip')
    expect((await spillway(['suggest', log, '--deny-at-most', 'few'])).exitCode).toBe(2)
  })
})
