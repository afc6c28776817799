// cspell:ignore methd
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import { inFlight } from '../src/in-flight.ts'
import { QuotaError } from '../src/index.ts'
import { policiesFrom, type RuleMatch, rulesSchema } from '../src/rules/index.ts'
import { anyDocument, rule, spoiltDocument } from './documents.ts'

/** What is wrong with a document, a line each. */
function problems(document: unknown): readonly string[] {
  try {
    policiesFrom(document, { inFlight })
    return []
  } catch (error) {
    if (!(error instanceof QuotaError) || error.code !== 'ERR_SPILLWAY_OPTION') throw error
    const [message = '', anchor] = error.message.replace('policiesFrom: ', '').split(' [https:')
    expect(anchor).toMatch(/\/docs\/errors\/err-spillway-option\.md\]$/)
    return message.split('\n  ')
  }
}

const configured = (algorithm_config: object, algorithm = 'token_bucket') => [rule({ algorithm, algorithm_config })]

describe('errors name the path and the fix', () => {
  test.each<[unknown, string]>([
    [
      '[]',
      'the document must be a list of rules, or an object { "rules": [...] }; got "[]". Give it what JSON.parse returns.',
    ],
    // Each byte was a problem, and a promise an empty object.
    [
      Buffer.from('[]'),
      'the document must be a list of rules, or an object { "rules": [...] }; got an object. Give it what JSON.parse returns.',
    ],
    [
      Promise.resolve([]),
      'the document must be a list of rules, or an object { "rules": [...] }; got a promise. Await it first.',
    ],
    [null, 'the document must be a list of rules, or an object { "rules": [...] }; got null.'],
    [[], 'rules must not be empty.'],
    [{ rules: {} }, 'rules must be a list of rules; got an object.'],
    [[5], 'rules[0] must be an object: a rule; got 5.'],
    [[rule(), rule({ name: 'b' }), rule()], 'rules[2].name must be its own; "a" is taken.'],
    // The names of states: the limiter threw, at its start.
    [[rule({ mode: 'shadow' }), rule({ name: 'a (shadow)' })], 'rules[1].name must be its own; "a (shadow)" is taken.'],
    [[rule({ name: 'a (blocked)' }), rule({ blocks: true })], 'rules[1].name must be its own; "a (blocked)" is taken.'],
    [[rule({ name: 'é' })], 'rules[0].name must be 1 to 100 printable ASCII characters; got "é".'],
    [[rule({ limit_key: 1 })], 'rules[0] has no option "limit_key". Did you mean "limit_keys"?'],
    [[rule({ limit_keys: [] })], 'rules[0].limit_keys must not be empty.'],
    [
      [rule({ limit_keys: ['ip', 'ip:country'] })],
      'rules[0].limit_keys[1] must be "ip:address", "method", "path", "header:NAME", "query:NAME", "cookie:NAME" or "claim:NAME"; got "ip:country".',
    ],
    // The limiter threw, at its start: no claim and no parameter can have such a name.
    ...['claim: org', 'query:q ', 'jwt: '].map((key): [unknown, string] => [
      [rule({ limit_keys: [key] })],
      `rules[0].limit_keys[0] must be "ip:address", "method", "path", "header:NAME", "query:NAME", "cookie:NAME" or "claim:NAME"; got "${key}".`,
    ]),
    [
      [rule({ algorithm: 'gcra' })],
      'rules[0].algorithm must be one of "token_bucket", "leaky_bucket", "fixed_window", "calendar_window", "sliding_window", "sliding_log", "warming_up", "in_flight", "penalty"; got "gcra".',
    ],
    [configured({ rps: 1, burst: 0 }), 'rules[0].algorithm_config.burst must be a whole number, 1 or more; got 0.'],
    [
      configured(JSON.parse('{"rps": 1e999, "burst": 1}')),
      'rules[0].algorithm_config.rps must be a number greater than 0; got Infinity.',
    ],
    [configured({ rps: 0, burst: 1 }), 'rules[0].algorithm_config.rps must be a number greater than 0; got 0.'],
    [
      configured({ rps: 1, tokens_per_second: 1, burst: 1 }),
      'rules[0].algorithm_config must have exactly one of "tokens_per_second", "rps", "limit".',
    ],
    [configured({ limit: 1, burst: 1 }), 'rules[0].algorithm_config must have "per" beside "limit".'],
    [
      configured({ rps: 1, burst: 1, cost_source: 'body:x' }),
      'rules[0].algorithm_config.cost_source must be "fixed", "header:NAME" or "query:NAME"; got "body:x".',
    ],
    // rateLimit rejected these, or ignored them, without the path of the rule.
    [
      configured({ rps: 1, cost_source: 'header:Content-Length' }),
      'rules[0].algorithm_config must have "max_cost" beside "cost_source".',
    ],
    [
      configured({ limit: 1, per: '1m', default_cost: 5 }),
      'rules[0].algorithm_config must have "cost_source" beside "default_cost".',
    ],
    [
      configured({ rps: 9, fixed_cost: 8, max_cost: 5 }),
      'rules[0].algorithm_config: max_cost is 5, but every request costs 8. Write "fixed_cost": 5, or leave out "max_cost".',
    ],
    [
      configured({ limit: 1, window: 60 }, 'fixed_window'),
      'rules[0].algorithm_config.window must be a number with its unit, ms, s, m, h or d, such as "10s"; got 60.',
    ],
    [
      configured({ limit: 1, windows: '1s', window: '1s' }, 'sliding_log'),
      'rules[0].algorithm_config has no option "windows". Did you mean "window"?',
    ],
    [
      configured({ rps: 1 / 3, burst: 1 }),
      'rules[0].algorithm_config: 0.3333333333333333 units per second are not a whole number of units in 95 years or less. Write "limit" and "per" instead, such as { "limit": 1, "per": "3s" }.',
    ],
    [
      configured({ rps: 1e21, burst: 1 }),
      'rules[0].algorithm_config: tokenBucket limit must be a whole number, 0 or more; got 1e+21. Use 4503599627370496.',
    ],
    // It was 10 a minute: 590 of 600 units were lost at each refill.
    [
      configured({ rps: 10, refill: '1m' }),
      'rules[0].algorithm_config: 600 units refill every "1m", but the bucket holds 10, so that 590 are lost. Write "burst": 600, or a shorter "refill".',
    ],
    [
      configured({ limit: 7, per: '1m', burst: 3, refill: '1m' }),
      'rules[0].algorithm_config: 7 units refill every "1m", but the bucket holds 3, so that 4 are lost. Write "burst": 7, or a shorter "refill".',
    ],
    [[rule({ match: {} })], 'rules[0].match must not be empty.'],
    [[rule({ match: { methd: 'GET' } })], 'rules[0].match has no option "methd". Did you mean "method"?'],
    [
      [rule({ match: { method: ['GET', 'get'] } })],
      'rules[0].match.method[1] must be a method in capitals such as "GET"; got "get". Did you mean "GET"?',
    ],
    [
      [rule({ match: { path: 'a' } })],
      'rules[0].match.path must be a path such as "/login", "/users/:id" or "/users/*/posts", in which ":id" and "*" are one segment, or "/api/*", for all below; got "a".',
    ],
    [[rule({ match: { 'header:x': 1 } })], 'rules[0].match["header:x"] must be text, or true for any; got 1.'],
    [[rule({ match: [] })], 'rules[0].match must not be empty.'],
    [[rule({ match: [{}] })], 'rules[0].match[0] must not be empty.'],
    [
      [rule({ match: [{ path: '/a' }, '/b'] })],
      'rules[0].match[1] must be an object that says which requests the rule is for; got "/b".',
    ],
    [
      [rule({ match: [[{ path: '/a' }]] })],
      'rules[0].match[0] must be an object that says which requests the rule is for; got an array.',
    ],
    [
      [rule({ match: [{ path: '/a' }, { 'jwt:a': 1, 'claim:a': 2 }] })],
      'rules[0].match[1]: claim "a" is named twice: keep one.',
    ],
    [[rule({ match: { 'jwt:a': 1, 'claim:a': 2 } })], 'rules[0].match: claim "a" is named twice: keep one.'],
    [[rule({ match: { 'header:A': 'x', 'header:a': 'y' } })], 'rules[0].match: header "a" is named twice: keep one.'],
    [[rule({ mode: 'dry' })], 'rules[0].mode must be "enforce" or "shadow"; got "dry".'],
  ])('%j', (document, problem) => expect(problems(document)).toEqual([problem]))

  test('all of a document at once, up to twenty', () => {
    const bad = rule({ mode: 'dry', algorithm_config: { rps: 1, burst: 0, bursts: 1 } })
    expect(problems([bad, rule(), rule()])).toEqual([
      'rules[0].mode must be "enforce" or "shadow"; got "dry".',
      'rules[0].algorithm_config.burst must be a whole number, 1 or more; got 0.',
      'rules[0].algorithm_config has no option "bursts". Did you mean "burst"?',
      'rules[2].name must be its own; "a" is taken.',
    ])
    expect(problems(Array(30).fill(7))).toHaveLength(21)
    expect(problems(Array(30).fill(7)).at(-1)).toBe('… and 10 more.')
  })
})

test('a prototype cannot be set', () => {
  const match = JSON.parse('{"header:__proto__": "x", "claim:__proto__": true}')
  const [policy] = policiesFrom([rule({ match })])
  const { header = {}, claim = {} } = (policy?.match ?? {}) as RuleMatch
  expect(Object.entries(header)).toEqual([['__proto__', 'x']])
  expect(Object.entries(claim)).toEqual([['__proto__', true]])
  expect(problems(JSON.parse('{"rules": [], "__proto__": {}}')).at(-1)).toContain('has no option "__proto__"')
  expect(problems([{ ...rule(), ...JSON.parse('{"__proto__": {}}') }])[0]).toContain(
    'rules[0] has no option "__proto__"',
  )
})

test('whatever comes in, what comes out is policies or a QuotaError', () => {
  const anything = fc.oneof(fc.jsonValue(), fc.anything(), spoiltDocument)
  fc.assert(
    fc.property(anything, (document) => {
      problems(document)
    }),
    { numRuns: runsOf(500) },
  )
  expect(Object.keys(Object.prototype)).toEqual([])
})

describe('the JSON Schema', () => {
  const accepts = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(rulesSchema)

  // What a schema cannot say: names of one's own, and numbers that add up to a quota.
  const beyond = /is taken\.$|is named twice: keep one\.$|^rules\[\d+\]\.algorithm_config: /

  test('accepts what policiesFrom accepts, but for names given twice and numbers that no quota keeps', () => {
    const seen = { accepted: 0, beyond: 0, refused: 0 }
    fc.assert(
      fc.property(fc.oneof(anyDocument, spoiltDocument), (document) => {
        const wrong = problems(document)
        const structural = wrong.filter((problem) => !beyond.test(problem))
        expect([accepts(document), structural]).toEqual([structural.length === 0, structural])
        seen[structural.length > 0 ? 'refused' : wrong.length > 0 ? 'beyond' : 'accepted']++
      }),
      { numRuns: runsOf(1_000) },
    )
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runsOf(40))
  })

  test('is what docs/rules.schema.json says; write it anew when this fails', () => {
    const file = new URL('../../../docs/rules.schema.json', import.meta.url)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(rulesSchema)
  })

  test('has no field and no algorithm that the page about JSON rules does not name', () => {
    const page = readFileSync(new URL('../../../docs/guides/json-rules.md', import.meta.url), 'utf8')
    expect(namesIn(rulesSchema)).toContain('keep_full')
    for (const name of namesIn(rulesSchema)) expect(page, name).toContain(`\`${name}\``)
  })
})

/** The names of all properties and algorithms in a schema. */
function namesIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, algorithm = {} } = schema as {
    properties?: object
    algorithm?: { enum?: readonly string[] }
  }
  return [...Object.keys(properties), ...(algorithm.enum ?? []), ...Object.values(schema).flatMap(namesIn)]
}
