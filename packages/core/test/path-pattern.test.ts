import { METHODS } from 'node:http'
import { fakeClock, modelStore } from '@spillway/conformance'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import { httpGuard, type Match, type RequestReader } from '../src/http/index.ts'
import { perMinute, QuotaError } from '../src/index.ts'
import { policiesFrom, rulesSchema } from '../src/rules/index.ts'
import { rule } from './documents.ts'

interface FakeRequest {
  readonly path: string
}

const lenient: RequestReader<FakeRequest> = {
  address: () => '203.0.113.7',
  peer: () => '203.0.113.7',
  method: () => 'GET',
  path: ({ path }) => path,
  header: () => undefined,
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: () => () => {},
  hasEmptyParameters: () => true,
}

const reader: RequestReader<FakeRequest> = { ...lenient, hasEmptyParameters: () => false }

const guardOf = (options: { match?: Match; skip?: Match }, from = reader) =>
  httpGuard<FakeRequest>({ quota: perMinute(1000), store: modelStore(fakeClock()), ...options }, from)

const counts = (pattern: string, path: string): boolean => judged({ match: { path: pattern } }, path)

function judged(options: { match?: Match; skip?: Match }, path: string, from = reader): boolean {
  const guard = guardOf(options, from)
  const request = { path }
  void guard(request)
  return guard.decisionOf(request) !== undefined
}

describe('a pattern of a path', () => {
  // Each of these was accepted, and never limited: a limit that was silently not there.
  test.each<[pattern: string, matches: readonly string[], others: readonly string[]]>([
    ['/', ['/', '', '//'], ['/a']],
    ['/login', ['/login', '/LOGIN', '/login/', '//login', '/%6cogin', '/x/../login', '/./login'], ['/', '/login/x']],
    [
      '/api/*',
      ['/api', '/api/', '/api/a', '/api/a/b', '/x/..%2Fapi/a', '/api%2Fa', '/api\\a'],
      ['/', '/apis', '/x/api'],
    ],
    ['/api/**', ['/api', '/api/', '/api/a', '/api/a/b'], ['/', '/apis']],
    ['/*', ['/', '/a', '/a/b'], []],
    ['/**', ['/', '/a', '/a/b'], []],
    ['/users/*/posts', ['/users/7/posts', '/users/*/posts'], ['/users/posts', '/users/7/8/posts', '/users/7']],
    ['/users/:id', ['/users/7', '/users/:id'], ['/users', '/users/7/posts']],
    ['/users/:id/*', ['/users/7', '/users/7/a/b'], ['/users']],
    ['/a%2A', ['/a*', '/a%2a'], ['/ab', '/a/b']],
    ['/v1/jobs%3Arun', ['/v1/jobs:run', '/v1/jobs%3arun'], ['/v1/jobs']],
    ['/100%25', ['/100%25', '/100%'], ['/100']],
    ['/straße/$count/a;v=1', ['/stra%C3%9Fe/$count/a;v=1'], ['/strasse']],
  ])('%s', (pattern, matches, others) => {
    for (const path of matches) expect([path, counts(pattern, path)]).toEqual([path, true])
    for (const path of others) expect([path, counts(pattern, path)]).toEqual([path, false])
  })

  // Reproduces a bug: Fastify leads `/users/` to `/users/:id`, h3 1 `/users//`, and the limit was absent.
  test.each<[pattern: string, paths: readonly string[], others: readonly string[]]>([
    ['/:page', ['/', '//'], ['/a/b', '/a/b/']],
    ['/users/:id', ['/users/', '/users//', '//users//', '/USERS/'], ['/users', '/users/7//8', '/a/']],
    ['/users/:id/posts', ['/users//posts', '/users//posts/'], ['/users/posts', '/users/posts/']],
    ['/users/:id/:post', ['/users//', '/users/7/', '/users//8/', '/users///'], ['/users', '/users/']],
    ['/users', ['/users/'], ['/']],
  ])('%s, with empty parameters', (pattern, paths, others) => {
    const of = (path: string): boolean => judged({ match: { path: pattern } }, path, lenient)
    for (const path of paths) expect([path, of(path)]).toEqual([path, true])
    for (const path of others) expect([path, of(path)]).toEqual([path, false])
  })

  test('an exemption ignores empty parameters', () => {
    const skipped = (pattern: string, path: string): boolean => !judged({ skip: { path: pattern } }, path, lenient)
    expect([skipped('/health', '/health/'), skipped('/users/:id', '/users/')]).toEqual([true, false])
  })

  test.each<[pattern: string, fix: string]>([
    ['', 'begins with "/"'],
    ['login', 'Write "/login".'],
    ['*', 'Write "/*".'],
    ['https://example.com/login', 'Write "/login".'],
    ['/api*', 'Write "/api/*".'],
    ['/users/:id?', 'Write ["/users", "/users/:id"].'],
    ['/users/:id(\\d+)', 'Write "/users/:id".'],
    ['/users/:id+', 'Write "/users/:id/*".'],
    ['/users/:id*', 'Write ["/users", "/users/:id/*"].'],
    ['/files/*rest', 'Write "/files/*".'],
    ['/files/{*rest}', 'Write "/files/*".'],
    ['/files{/*rest}', 'Write "/files/*".'],
    ['/files/*rest/raw', 'is one segment'],
    ['/a/{id}', 'Write "/a/:id".'],
    ['/a/[id]', 'Write "/a/:id".'],
    ['/a/<id>', 'Write "/a/:id".'],
    ['/a/<int:id>', 'Write "/a/:id".'],
    ['/login?x=1', 'Write "/login".'],
    ['/login#top', 'Write "/login".'],
    ['/login?', 'Write "/login".'],
    ['/(.*)', 'Write "/*".'],
    ['/login$', 'Write "/login".'],
    ['/a/**/b', 'is one segment'],
    ['/a//b', 'Write "/a/b".'],
    ['//a', 'Write "/a".'],
    ['/api/', 'Write "/api" for that path alone, or "/api/*" for all below it as well.'],
    ['/a/../b', 'is one segment'],
    ['/a/%2e%2e/b', 'is one segment'],
    ['/a%2Fb', 'Write "/a/b".'],
    ['/a%2fb', 'Write "/a/b".'],
    ['/a\\b', 'Write "/a/b".'],
    ['/a%5Cb', 'Write "/a/b".'],
    ['/a b', 'Write "/a%20b".'],
    ['/100%', 'Write "/100%25".'],
    ['/file-:id', 'is one segment'],
    ['/:from-:to', 'is one segment'],
    ['/(a|b)', 'is one segment'],
    ['/:', 'is one segment'],
    ['/:0', 'is one segment'],
    ['/***', 'is one segment'],
    ['/{a,b}', 'is one segment'],
  ])('%s is rejected, with what to write', (pattern, fix) => {
    for (const what of ['match', 'skip'] as const) {
      expect(() => guardOf({ [what]: { path: pattern } })).toThrow(QuotaError)
      expect(() => guardOf({ [what]: { path: ['/fine', pattern] } })).toThrow(`${what}.path`)
      expect(() => guardOf({ [what]: { path: pattern } })).toThrow(fix)
    }
    expect(() => policiesFrom([rule({ match: { path: pattern } })])).toThrow('rules[0].match.path must be a path')
  })

  test('what is proposed instead is accepted', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'/a:*?#{}()%2F.$ \\'), maxLength: 8 }), (pattern) => {
        const denied = refusalOf(pattern)
        const [, proposed] = / Write ("[^"]*"|\[.*?\])[. ]/.exec(denied ?? '') ?? []
        if (proposed !== undefined)
          for (const each of [JSON.parse(proposed)].flat()) expect(refusalOf(each)).toBe(undefined)
      }),
      { numRuns: runsOf(1_250) },
    )
  })

  test('JSON rules and their schema accept the same', () => {
    const accepts = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(rulesSchema)
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'/a:*?#{}()%2F.$ \\'), maxLength: 8 }), (path) => {
        const rules = [rule({ match: { path: `/${path}` } })]
        const accepted = refusalOf(`/${path}`) === undefined
        expect([path, accepts(rules)]).toEqual([path, accepted])
        if (accepted) policiesFrom(rules)
        else expect(() => policiesFrom(rules)).toThrow(QuotaError)
      }),
      { numRuns: runsOf(1_250) },
    )
  })

  // A file server resolves dots and decodes slashes; a router does not. What is skipped has to be it for both.
  test('no spelling bypasses a limit, or gets into an exception', () => {
    for (const path of [
      '/files/a',
      '/x/../files/a',
      '/files%2Fa',
      '/%2e/files/a',
      '/files/../x',
      '/x/%2e%2e/files/a',
    ]) {
      expect([path, judged({ match: { path: '/files/*' } }, path)]).toEqual([path, true])
    }
    for (const path of ['/login/../health', '/health/../login', '/login%2F..%2Fhealth']) {
      expect([path, judged({ skip: { path: '/health' } }, path)]).toEqual([path, true])
    }
    expect(judged({ skip: { path: '/health' } }, '/health')).toBe(false)
  })
})

function refusalOf(pattern: string): string | undefined {
  try {
    guardOf({ match: { path: pattern } })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

describe('a method', () => {
  test.each(METHODS)('%s of this Node.js is known', (method) => {
    expect(() => guardOf({ match: { method } })).not.toThrow()
    expect(() => policiesFrom([rule({ match: { method } })])).not.toThrow()
  })

  test('is rejected if it is invalid, with the one that was likely meant', () => {
    expect(() => guardOf({ match: { method: 'PSOT' } })).toThrow('match.method knows no "PSOT". Did you mean "POST"?')
    expect(() => guardOf({ match: { method: ['GET', 'get '] } })).toThrow('Did you mean "GET"?')
    expect(() => guardOf({ match: { method: 'FETCH-ALL' } })).toThrow('for one of your own, match by a function')
    expect(() => guardOf({ match: { method: 'post' } })).not.toThrow()
    expect(() => policiesFrom([rule({ match: { method: 'PSOT' } })])).toThrow(
      'rules[0].match.method must be a method in capitals such as "GET"; got "PSOT". Did you mean "POST"?',
    )
  })
})
