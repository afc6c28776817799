// cspell:ignore chek psot
import { writeFileSync } from 'node:fs'
import { inFlight } from '@spillway/core/in-flight'
import { policiesFrom } from '@spillway/core/rules'
import { afterAll, describe, expect, test } from 'vitest'
import { sentenceOf } from '../src/explain/sentence.ts'
import { trapsIn } from '../src/explain/traps.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

const rule = (algorithm: string, config: object, more: object = {}) => bucket('p', config, { algorithm, ...more })

describe('a policy in a sentence', () => {
  test.each<[object, string]>([
    [
      rule('token_bucket', { limit: 60, per: '1m', burst: 20 }),
      'Each client address may make 20 requests at once, and then 1 a second.',
    ],
    [rule('token_bucket', { tokens_per_second: 0.5, burst: 1 }), 'Each client address may make a request 30 a minute.'],
    [
      rule('token_bucket', { limit: 6, per: '7m', burst: 2 }),
      'Each client address may make 2 requests at once, and then one every 1 min 10 s.',
    ],
    [
      rule('token_bucket', { limit: 60, per: '1m', burst: 100, refill: '10s' }),
      'Each client address may make 100 requests at once, and 10 more every 10 s.',
    ],
    [
      rule('token_bucket', { rps: 5, burst: 9, overdraft: 1 }),
      'Each client address may make 9 requests at once, and then 5 a second, and owe up to 1 unit.',
    ],
    [
      rule('token_bucket', { rps: 5, burst: 9, initial: 2 }),
      'Each client address may make 9 requests at once, and then 5 a second, starting with 2.',
    ],
    [
      rule('fixed_window', { limit: 100, window: '1d' }),
      'Each client address may make 100 requests in each day of the clock.',
    ],
    [
      rule('fixed_window', { limit: 100, window: '1d', align: 'first' }),
      'Each client address may make 100 requests in each day from the first of them.',
    ],
    [
      rule('sliding_window', { limit: 1, window: '90s' }),
      'Each client address may make about 1 request in any 1 min 30 s.',
    ],
    [
      rule('warming_up', { limit: 5, per: '1s', warm_up_period: '10s' }),
      'Each client address may make requests evenly spaced, 5 a second, at a third of that rate after idle time, rising for 10 s.',
    ],
    [
      rule('sliding_log', { limit: 5, window: '1m' }),
      'Each client address may make 5 requests in any minute, exactly.',
    ],
    [
      rule('leaky_bucket', { limit: 5, per: '1s', queue: 9 }),
      'Each client address may make requests evenly, 5 a second, and queue 9 requests.',
    ],
    [rule('in_flight', { limit: 5 }), 'Each client address may have 5 requests in flight at once.'],
    [
      rule('penalty', { after: 5, within: '15m', block: '15m' }, { count_if: [401, 403] }),
      'Each client address may make 5 requests within 15 min, and is then blocked for 15 min. It counts responses with status 401 or 403 only.',
    ],
    [
      rule('penalty', { after: 1, within: '1m', block: '15m', grow: 2, max: '1d', forgive: '2d' }),
      'Each client address may make 1 request within 1 min, and is then blocked for 15 min, each time 2 times as long, up to 1 d, until 2 d without a block.',
    ],
    [
      rule('penalty', { after: 9, within: '1h', block: '90s', extend: true, fixed_cost: 3 }),
      'Each client address may make 9 units within 1 h, and is then blocked for 1 min 30 s, from its last request, where a request costs 3.',
    ],
    [rule('token_bucket', { limit: 0, per: '1m', fixed_cost: 3 }), 'Each client address may make no requests.'],
    [
      rule('token_bucket', { rps: 1, burst: 9 }, { blocks: true }),
      'Each client address may make 9 requests at once, and then 1 a second. It can be blocked by hand.',
    ],
    [
      rule(
        'token_bucket',
        { rps: 1, burst: 9, cost_source: 'header:X-Cost', max_cost: 5, default_cost: 2 },
        { limit_keys: ['header:X-Key', 'query:q', 'cookie:c', 'claim:org', 'method'] },
      ),
      'Each value of the header x-key and value of the query parameter q and value of the cookie c and verified claim org and method may make 9 units at once, and then 1 a second, where a request costs the number in its header X-Cost, 5 at most, or else 2.',
    ],
    [
      rule(
        'token_bucket',
        { rps: 1, burst: 9, fixed_cost: 3 },
        {
          match: { method: ['GET', 'POST'], path: '/a/*', 'header:x-beta': true, 'claim:plan': 'pro' },
          mode: 'shadow',
        },
      ),
      'Each client address may make 9 units at once, and then 1 a second, where a request costs 3, counting requests by GET or POST to /a/* with header x-beta with claim plan of "pro". It never denies (shadow mode).',
    ],
    [
      rule('token_bucket', { rps: 1, burst: 9 }, { match: [{ method: 'POST', path: '/a' }, { path: ['/b', '/c'] }] }),
      'Each client address may make 9 requests at once, and then 1 a second, counting requests by POST to /a, or to /b or /c.',
    ],
  ])('%j', (policy, sentence) => {
    expect(policiesFrom([policy], { inFlight }).map(sentenceOf)).toEqual([sentence])
  })
})

describe('traps', () => {
  const codesIn = (...rules: object[]) =>
    trapsIn(policiesFrom(rules.map((rule, i) => ({ ...rule, name: `p${i}` })))).map(
      ({ policy, code }) => `${policy} ${code}`,
    )
  const good = { rps: 10, burst: 20 }

  test.each<[string, object[], string[]]>([
    ['nothing wrong', [rule('token_bucket', good)], []],
    [
      'a key that a client sets',
      [rule('token_bucket', good, { limit_keys: ['header:x-key'] })],
      ['p0 key-trusts-client'],
    ],
    ['one beside the address', [rule('token_bucket', good, { limit_keys: ['header:x-key', 'ip'] })], []],
    ['a claim, which is checked', [rule('token_bucket', good, { limit_keys: ['claim:sub'] })], []],
    ['a cost that never fits', [rule('token_bucket', { ...good, fixed_cost: 21 })], ['p0 cost-above-limit']],
    [
      'a usual cost that never fits',
      [rule('token_bucket', { ...good, cost_source: 'query:n', default_cost: 21, max_cost: 25 })],
      ['p0 cost-above-limit', 'p0 max-cost-above-limit'],
    ],
    // It was reported, though such a request costs 5.
    [
      'a usual cost above the bound, which it then is',
      [rule('token_bucket', { ...good, cost_source: 'query:n', default_cost: 21, max_cost: 5 })],
      [],
    ],
    ['a cost that fits by overdraft', [rule('token_bucket', { ...good, fixed_cost: 12, overdraft: 10 })], []],
    ['a burst below two requests', [rule('token_bucket', { ...good, fixed_cost: 11 })], ['p0 burst-below-two']],
    ['a cost without bounds', [rule('token_bucket', { ...good, cost_source: 'header:x' })], ['p0 cost-unbounded']],
    [
      'a bound that never fits',
      [rule('token_bucket', { ...good, cost_source: 'header:x', max_cost: 21 })],
      ['p0 max-cost-above-limit'],
    ],
    ['a window below a second', [rule('token_bucket', { rps: 100, burst: 10 })], ['p0 window-below-second']],
    ['a window boundary', [rule('fixed_window', { limit: 10, window: '1m' })], ['p0 window-boundary']],
    [
      'the end of a window of the first request',
      [rule('fixed_window', { limit: 10, window: '1m', align: 'first' })],
      ['p0 window-boundary'],
    ],
    ['a long log', [rule('sliding_log', { limit: 1001, window: '1m' })], ['p0 log-long']],
    ['made-up paths', [rule('token_bucket', good, { limit_keys: ['ip', 'path'] })], ['p0 key-by-path']],
    [
      'a policy without effect',
      [rule('token_bucket', good), rule('token_bucket', { rps: 10, burst: 30 })],
      ['p1 never-reached'],
    ],
    // Both were reported, though the first one denies less: failed logins only, or what its reserve does not pay for.
    [
      'one with effect, on all responses',
      [rule('token_bucket', good, { count_if: [401] }), rule('token_bucket', { rps: 10, burst: 30 })],
      [],
    ],
    [
      'one with effect, as the other has a reserve',
      [
        rule('token_bucket', good, { spill: 'p2' }),
        rule('token_bucket', { rps: 10, burst: 30 }),
        rule('token_bucket', { rps: 1, burst: 5 }, { match: { path: '/a' } }),
      ],
      [],
    ],
    [
      'one with effect, for a day',
      [rule('token_bucket', good), rule('token_bucket', { limit: 1000, per: '1d', burst: 1000 })],
      [],
    ],
    [
      'one with effect, on other requests',
      [rule('token_bucket', good), rule('token_bucket', { rps: 10, burst: 30 }, { match: { path: '/a' } })],
      [],
    ],
    ['a shadow', [rule('token_bucket', good, { mode: 'shadow' })], ['p0 shadow']],
  ])('%s', (_, rules, codes) => {
    expect(codesIn(...rules)).toEqual(codes)
  })
})

describe('spillway check', () => {
  const folder = folderOf({
    'good.json': JSON.stringify([bucket('good', { rps: 10, burst: 20 })]),
    'trap.json': `\ufeff${JSON.stringify([bucket('trap', { limit: 10, window: '1m' }, { algorithm: 'fixed_window' })])}`,
    'shadow.json': JSON.stringify([bucket('next', { rps: 10, burst: 20 }, { mode: 'shadow' })]),
    'bad.json': JSON.stringify([bucket('bad', { rps: 10, bursts: 20 })]),
    'never.json': JSON.stringify([bucket('never', { rps: 10, burst: 20 }, { match: { path: '/files/{*rest}' } })]),
    'psot.json': JSON.stringify([bucket('psot', { rps: 10, burst: 20 }, { match: { method: 'PSOT' } })]),
    'torn.json': '[{',
  })
  afterAll(() => folder.remove())
  const check = (...args: string[]) =>
    spillway(['check', ...args.map((arg) => (arg.endsWith('.json') ? folder.path(arg) : arg))])

  // `JSON.parse` keeps the last: the first limit was silently not there.
  test.each([
    ['{"rules": [], "rules": []}', 'rules'],
    ['[{"name": "a", "match": {"path": "/a"}, "limit_keys": ["ip:address"], "match": {}}]', '[0].match'],
    ['{"rules": [{"a": [1, {}, "b"], "c": "{,\\"}"}, {"d": {"e": "e", "\\u0065": 2}}]}', 'rules[1].d.e'],
  ])('refuses a name that an object has twice: %s', async (text, where) => {
    writeFileSync(folder.path('twice.json'), text)
    const { exitCode, out } = await check('twice.json')
    expect([exitCode, out]).toEqual([1, expect.stringContaining(`twice.json: ${where} is named twice: keep one.`)])
  })

  test('describes valid policies, and reports the problems of invalid ones', async () => {
    const { exitCode, out } = await check('good.json', 'trap.json', 'bad.json', 'torn.json')
    const shown = out.replaceAll(`${folder.path('')}/`, '')
    expect(exitCode).toBe(1)
    expect(shown).toContain(
      '✓ good.json\n  good  Each client address may make 20 requests at once, and then 10 a second.\n',
    )
    expect(shown).toContain('    ! window-boundary: up to 20 are allowed around a window boundary')
    expect(shown).toContain('✗ bad.json: rules[0].algorithm_config has no option "bursts". Did you mean "burst"?')
    expect(shown).toContain('✗ torn.json is not JSON: ')
  })

  test.each<[string[], number]>([
    [['good.json'], 0],
    [['trap.json'], 0],
    [['trap.json', '--strict'], 1],
    [['shadow.json', '--strict'], 0],
    // These were reported as valid, and never limited any client.
    [['never.json'], 1],
    [['psot.json'], 1],
    [['good.json', 'bad.json'], 1],
    [['none.json'], 2],
    [[], 2],
  ])('%j exits with %i', async (args, exitCode) => {
    expect((await check(...args)).exitCode).toBe(exitCode)
  })

  // Each of these was ✓, and limited nothing.
  test.each([
    ...[
      '/api*',
      '/users/:id?',
      '/files/*rest',
      '/files/{*rest}',
      '/a/{id}',
      '/login?x=1',
      '/(.*)',
      '/a/**/b',
      'login',
      '',
    ],
  ])('the path %j, which never matches, is invalid', async (path) => {
    const rules = folderOf({ 'p.json': JSON.stringify([bucket('p', { rps: 10, burst: 20 }, { match: { path } })]) })
    const { exitCode, out } = await spillway(['check', '--strict', rules.path('p.json')])
    rules.remove()
    expect([exitCode, out]).toEqual([1, expect.stringMatching(/^✗ .*p\.json: .*path/s)])
  })

  test.each(['PSOT', ['GET', 'gte'], ''])('the method %j, which never occurs, is invalid', async (method) => {
    const rules = folderOf({ 'p.json': JSON.stringify([bucket('p', { rps: 10, burst: 20 }, { match: { method } })]) })
    const { exitCode, out } = await spillway(['check', '--strict', rules.path('p.json')])
    rules.remove()
    expect([exitCode, out]).toEqual([1, expect.stringMatching(/^✗ .*p\.json: .*method/s)])
  })

  test.each(['/api/**', '/api/*', '/users/*/posts', '/users/:id', '/'])('the path %j is valid', async (path) => {
    const rules = folderOf({ 'p.json': JSON.stringify([bucket('p', { rps: 10, burst: 20 }, { match: { path } })]) })
    expect((await spillway(['check', '--strict', rules.path('p.json')])).exitCode).toBe(0)
    rules.remove()
  })

  // Reproduces a bug: `check` reported it as valid, and `replay` an error without the name of the file.
  test.each(['check', 'replay'])('%s names the file of a policy that no limiter accepts', async (command) => {
    const config = { rps: 10, burst: 20, cost_source: 'header:content-length' }
    const rules = folderOf({ 'p.json': JSON.stringify([bucket('p', config)]), 'a.log': '' })
    const file = rules.path('p.json')
    const args = command === 'check' ? [file] : [rules.path('a.log'), '--policy', file]
    const { exitCode, out, err } = await spillway([command, ...args])
    rules.remove()
    expect([exitCode, out + err]).toEqual([1, expect.stringMatching(/p\.json: .*max_?cost/i)])
  })

  test('prints all of it as JSON', async () => {
    const { out } = await check('trap.json', 'bad.json', '--json')
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      files: [
        { valid: true, policies: [{ name: 'trap', traps: [{ code: 'window-boundary' }] }] },
        { valid: false, error: expect.stringContaining('bursts') },
      ],
    })
  })

  test('helps', async () => {
    const help = await spillway(['--help'])
    expect([help.exitCode, help.out.startsWith('Usage: spillway')]).toEqual([0, true])
    expect((await spillway(['chek'])).err).toContain('Did you mean check?')
    expect((await spillway([])).exitCode).toBe(2)
  })
})
