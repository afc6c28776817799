import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  calendarWindow,
  fixedWindow,
  leakyBucket,
  penalty,
  perHour,
  perMinute,
  perMonth,
  perSecond,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { policiesFrom } from '@spillway/core/rules'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { PROGRAM } from '../../../test/program.ts'
import { documentOf } from '../src/export/document.ts'
import { type CodePolicy, ruleFrom } from '../src/export/rule.ts'
import { spillway as inProcess } from './terminal.ts'

// A process that compiles its modules takes seconds, and many more on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const spillway = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [...PROGRAM, path('../src/program/main.ts'), ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  })

test('prints what an application limits, though it listens and prints itself', () => {
  expect(JSON.parse(spillway('export', path('fixtures/app.mjs')))).toEqual({
    rules: [
      {
        name: 'per-client',
        limit_keys: ['ip'],
        algorithm: 'token_bucket',
        algorithm_config: { limit: 1, per: '1s', burst: 20 },
        blocks: true,
      },
      {
        name: 'login',
        limit_keys: ['ip', 'path'],
        algorithm: 'sliding_window',
        algorithm_config: { limit: 5, window: '10m' },
        match: { method: 'POST', path: '/login', 'header:x-form': true },
        mode: 'shadow',
      },
    ],
  })
})

test('a module without a limiter, or that does not exist, is an error', async () => {
  expect(await inProcess(['export', path('no.mjs')])).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('no.mjs cannot be read'),
  })
  expect(await inProcess(['export', path('terminal.ts')])).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining('builds no limiter'),
  })
})

test.each([
  ['throws what is no error', 'throw null', 'cannot be run: null'],
  ['ends the process', 'process.exit(0)', 'ended the process'],
  ['never ends', 'await new Promise(() => {})', 'ended the process'],
  // The limit is in real time, because the module is another program; it ran on for ever.
  [
    'never ends, with an open connection',
    'setInterval(() => {}, 1000); await new Promise(() => {})',
    'has not been loaded within 1 s: does it await a connection?',
  ],
])('a module that %s is an error that says so', (_, source, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-export-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'app.mjs')
  writeFileSync(file, source)
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...PROGRAM, path('../src/program/main.ts'), 'export', file, '--timeout', '1'],
    { encoding: 'utf8' },
  )
  expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining(`app.mjs ${message}`)])
})

test('--version prints that of the package', () => {
  expect(spillway('--version')).toMatch(/^\d+\.\d+\.\d+\n$/)
})

describe('a policy in code and its rule in JSON', () => {
  const quotas: Record<string, Quota> = {
    perSecond: perSecond(7),
    perMinute: perMinute(100, { burst: 3 }),
    perHour: perHour(50_000_000),
    odd: tokenBucket({ limit: 9_999, per: '1s', burst: 12 }),
    overdraft: tokenBucket({ limit: 5, per: '3s', overdraft: 4 }),
    initial: tokenBucket({ limit: 7, per: '1m', initial: 2, keepFull: '2d' }),
    credits: tokenBucket({ limit: 100, per: '1h', refill: '36s', burst: 100 }),
    fixed: fixedWindow({ limit: 5, window: '1h', offset: '15m' }),
    many: fixedWindow({ limit: 1e12, window: '1h', offset: '15m' }),
    first: fixedWindow({ limit: 5, window: '1h', align: 'first' }),
    month: perMonth(5),
    week: calendarWindow({ limit: 5, unit: 'week', timeZone: 'Europe/Berlin', firstDay: 7 }),
    sliding: slidingWindow({ limit: 5, window: '90s' }),
    log: slidingLog({ limit: 5, window: '1500ms' }),
    leaky: leakyBucket({ limit: 5, per: '1m', queue: 3 }),
    warm: warmingUp({ limit: 10, per: '1s', warmUpPeriod: '3m' }),
    slots: inFlight(10),
    'slots for long': inFlight(10, { ttl: '90s' }),
    blocks: penalty({ after: 5, within: '15m', block: '15m', extend: true }),
    'growing blocks': penalty({ after: 5, within: '15m', block: '15m', grow: 2, max: '1d', forgive: '2d' }),
  }

  test.each(Object.entries(quotas))('are the same: %s', (name, quota) => {
    const policy = {
      name,
      quota,
      key: ['ip', 'header:x-a'],
      match: { claim: { plan: 'pro' } },
      cost: 'query:n',
      maxCost: 5,
    }
    expect(policiesFrom([ruleFrom(policy as CodePolicy, name)], { inFlight })).toEqual([policy])
  })

  test('are the same for any token bucket', () => {
    const numbers = fc.record({
      limit: fc.integer({ min: 1, max: 1e5 }),
      per: fc.integer({ min: 1, max: 1e8 }),
      burst: fc.integer({ min: 1, max: 1e4 }),
    })
    fc.assert(
      fc.property(numbers, (options) => {
        const quota = tokenBucket(options)
        expect(policiesFrom([ruleFrom({ quota }, 'p')])[0]?.quota).toEqual(quota)
      }),
    )
  })

  test.each(['quota', 'key', 'match', 'cost', 'countIf'])(
    'a function as its %s is an error that says what to write',
    (part) => {
      const policy = { quota: perMinute(1), [part]: () => undefined } as CodePolicy
      expect(() => ruleFrom(policy, 'p')).toThrow(`policy "p" has a function as its ${part}, which JSON cannot hold: `)
    },
  )
})

// The rule applied to every address.
test('a list of matches is one in JSON, and read again', () => {
  const match = [
    { method: 'POST', path: '/login' },
    { header: { 'x-beta': true }, claim: { plan: 'pro' } },
  ] as const
  const rule = ruleFrom({ quota: perMinute(1), match } as unknown as CodePolicy, 'p')
  expect(rule.match).toEqual([
    { method: 'POST', path: '/login' },
    { 'header:x-beta': true, 'claim:plan': 'pro' },
  ])
  expect(policiesFrom([rule])[0]?.match).toEqual(match)
})

test('a match by address is an error that says what to write', () => {
  const policy = { quota: perMinute(1), match: { ip: '10.0.0.0/8', path: '/api/*' } } as CodePolicy
  expect(() => ruleFrom(policy, 'p')).toThrow('policy "p" has match.ip, which JSON cannot hold: match by method, path')
})

describe('the document of several policies', () => {
  const quota = (limit: number): Quota => tokenBucket({ limit, per: '1s' })
  const relations = (limiters: readonly (readonly CodePolicy[])[]) =>
    policiesFrom(documentOf(limiters)).map(({ name, tiers, spill }) => [name, tiers, spill])

  // Reproduces a bug: in code, both count a search.
  test('has no tiers that the code does not have', () => {
    const all = { name: 'all', quota: quota(1) }
    const search = { name: 'search', quota: quota(5), match: { path: '/search' } }
    expect(relations([[search, all]])).toEqual([
      ['search', undefined, undefined],
      ['all', 'all', undefined],
    ])
    expect(relations([[search], [all]])).toEqual(relations([[search, all]]))
  })

  // Reproduces a bug: tiers of two limiters became one group, and a copied name was not that of its spill.
  test('relates the policies of one limiter only', () => {
    const policies = [
      { name: 'paid', tiers: 'plan', match: { header: { 'x-plan': 'paid' } }, quota: quota(5), spill: 'reserve' },
      { name: 'free', tiers: 'plan', quota: quota(1) },
      { name: 'reserve', quota: quota(1) },
    ]
    expect(relations([policies, policies])).toEqual([
      ['paid', 'plan', 'reserve'],
      ['free', 'plan', undefined],
      ['reserve', undefined, undefined],
      ['paid 2', 'plan 2', 'reserve 2'],
      ['free 2', 'plan 2', undefined],
      ['reserve 2', undefined, undefined],
    ])
  })

  test('has names of at most 100 characters', () => {
    const limiter = [{ name: 'n'.repeat(100), quota: quota(1) }]
    expect(relations([limiter, limiter]).map(([name]) => name)).toEqual(['n'.repeat(100), `${'n'.repeat(98)} 2`])
  })

  test('relates policies as the code does, for any policies', () => {
    const policy = fc.record(
      {
        tiers: fc.constantFrom('a', 'b'),
        mode: fc.constant('shadow' as const),
        match: fc.constantFrom({ path: '/a' }, { path: '/b' }, { method: 'GET' }),
        quota: fc.integer({ min: 1, max: 4 }).map(quota),
      },
      { requiredKeys: ['quota'] },
    )
    fc.assert(
      fc.property(
        fc.array(fc.array(policy, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
        (made) => {
          const limiters = made.map((list) => list.map((each, i) => ({ ...each, name: `p${i}` })))
          fc.pre(limiters.every(isValid))
          const code = limiters.flatMap((list, limiter) => list.map(({ tiers }) => ({ limiter, tiers })))
          const read = policiesFrom(documentOf(limiters))
          for (const [i, a] of code.entries()) {
            for (const [j, b] of code.entries()) {
              const related = a.limiter === b.limiter && a.tiers !== undefined && a.tiers === b.tiers
              if (i !== j) expect(read[i]?.tiers !== undefined && read[i]?.tiers === read[j]?.tiers).toBe(related)
            }
          }
        },
      ),
    )
  })

  /** Whether code accepts the tiers: none is without requests. */
  function isValid(policies: readonly CodePolicy[]): boolean {
    try {
      policiesFrom(policies.map((policy) => ruleFrom(policy, String(policy.name))))
      return true
    } catch {
      return false
    }
  }
})
