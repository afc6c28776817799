import { describe, expect, test } from 'vitest'
import type { RateLimitOptions } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { type FakeRequest, setUp } from './fake-request.ts'

describe('a match', () => {
  test.each<[string, RateLimitOptions<FakeRequest>['match'], FakeRequest[], FakeRequest[]]>([
    ['a method', { method: 'post' }, [{ method: 'POST' }], [{ method: 'GET' }, { method: 'HEAD' }]],
    ['GET, and HEAD, which runs its handler', { method: 'GET' }, [{}, { method: 'HEAD' }], [{ method: 'POST' }]],
    ['one of several methods', { method: ['PUT', 'DELETE'] }, [{ method: 'PUT' }, { method: 'DELETE' }], [{}]],
    ['a path', { path: '/login' }, [{ path: '/login' }], [{ path: '/' }, { path: '/login/x' }, { path: '/loginx' }]],
    // Another spelling of an address must be no way around its policy.
    ['its other spellings', { path: '/login' }, [{ path: '/LOGIN' }, { path: '//login/' }, { path: '/%6cogin' }], []],
    ['a path that is not decodable', { path: '/%25zz' }, [{ path: '/%zz' }], [{ path: '/' }]],
    [
      'everything below',
      { path: '/api/*' },
      [{ path: '/api' }, { path: '/api/a/b' }],
      [{ path: '/apix' }, { path: '/' }],
    ],
    ['everything', { path: '/*' }, [{ path: '/' }, { path: '/a' }], []],
    ['any one segment', { path: '/users/:id/posts' }, [{ path: '/users/7/posts' }], [{ path: '/users/posts' }]],
    [
      'one segment or more',
      { path: '/users/:id/*' },
      [{ path: '/users/7' }, { path: '/users/7/x' }],
      [{ path: '/users' }],
    ],
    ['one of several paths', { path: ['/a', '/b'] }, [{ path: '/a' }, { path: '/b' }], [{ path: '/c' }]],
    [
      'a header',
      { header: { 'X-Beta': 'yes' } },
      [{ headers: { 'x-beta': 'yes' } }],
      [{}, { headers: { 'x-beta': 'no' } }],
    ],
    ['any value of a header', { header: { via: true } }, [{ headers: { via: 'x' } }], [{ headers: { via: '' } }, {}]],
    ['an address', { ip: ['10.0.0.0/8', '203.0.113.7'] }, [{}, { ip: '10.1.2.3' }], [{ ip: '203.0.113.8' }]],
    [
      'an address of either family, however it is written',
      { ip: ['2001:db8::/32', '10.0.0.1'] },
      [{ ip: '2001:0DB8:1::%eth0' }, { ip: '::ffff:10.0.0.1' }],
      [{ ip: '2001:db9::1' }, { ip: '::ffff:10.0.0.2' }, { ip: '10.0.0.1.evil' }, { ip: '' }],
    ],
    ['a claim', { claim: { plan: 'pro' } }, [{ user: { plan: 'pro' } }], [{ user: { plan: 'free' } }, {}]],
    ['no inherited claim', { claim: { plan: 'pro' } }, [], [{ user: Object.create({ plan: 'pro' }) }]],
    [
      'all of it together',
      { method: 'GET', path: '/a' },
      [{ path: '/a' }],
      [{ path: '/a', method: 'POST' }, { path: '/b' }],
    ],
    ['what a function says', ({ path }) => path === '/x', [{ path: '/x' }], [{ path: '/y' }]],
  ])('holds for %s and nothing else', (_, match, inside, outside) => {
    const { evaluate } = setUp({ quota: perMinute(100), match: match as never, claims: ({ user }) => user })
    for (const request of inside) expect(evaluate(request).decision, JSON.stringify(request)).toBeDefined()
    for (const request of outside) expect(evaluate(request).decision, JSON.stringify(request)).toBeUndefined()
  })

  test.each([
    [{ methods: 'GET' }, 'Did you mean "method"?'],
    [{ path: 5 }, 'match.path must be text or a list of it; got 5.'],
    [{ method: [] }, 'match.method must be text or a list of it; got an empty list.'],
    [{ ip: [] }, 'match.ip must be text or a list of it; got an empty list.'],
    [{ ip: '10.0.0.0/33' }, "match.ip lists addresses and networks such as '10.0.0.0/8' or '::1'; got"],
    [
      { header: 'x-beta' },
      `match.header must be an object with the required value of each name, such as { name: 'value' }; got "x-beta".`,
    ],
    [{ header: { 'x-beta': false } }, 'got false for "x-beta".'],
    [{ claim: ['plan'] }, 'match.claim must be an object with the required value of each name'],
    [{ claim: { plan: 'pro' } }, 'match.claim needs claims that the app has verified'],
    [{}, 'match is empty: add a condition, or leave it out.'],
  ])('written as %j is rejected', (match, message) => {
    expect(() => setUp({ quota: perMinute(1), match: match as never })).toThrow(message)
  })
})

describe('skip', () => {
  test('allows an allow list, uncounted, and denies the others', () => {
    const { evaluate } = setUp({ quota: perMinute(1), skip: { ip: ['10.0.0.0/8', '2001:db8::/48'] } })
    for (const ip of ['10.0.0.1', '10.255.0.1', '2001:db8::1', '::ffff:10.0.0.1']) {
      expect([evaluate({ ip }), evaluate({ ip })].map(({ decision }) => decision)).toEqual([undefined, undefined])
    }
    expect([evaluate(), evaluate()].map(({ denial }) => denial?.status)).toEqual([undefined, 429])
  })

  test('goes by the address that is counted, as trusted as that is', () => {
    const { evaluate } = setUp({ quota: perMinute(1), trustProxy: 1, skip: { ip: '198.51.100.1' } })
    const by = (forwarded: string) => evaluate({ headers: { 'x-forwarded-for': forwarded } }).decision
    expect(by('198.51.100.1')).toBeUndefined()
    expect(by('198.51.100.1, 203.0.113.9')).toBeDefined()
  })

  // Behind a mount of h3, no pattern skipped a request: all readings of its path had to match, and one lacks the prefix.
  test('goes by the whole path, and not by what a mount leaves of it', () => {
    const counted = (skip: string, path: readonly string[]): boolean =>
      setUp({ quota: perMinute(1), skip: { path: skip } }).evaluate({ path }).decision !== undefined
    const mounted = ['/api/health', '/api/health', '/health']
    expect(['/api/health', '/api/*', '/health', '/health/*'].map((skip) => counted(skip, mounted))).toEqual([
      false,
      false,
      true,
      true,
    ])
    // Requests for /login.
    for (const requested of ['/health/../login', '/health/%2e%2e/login', 'http://health/login', '/health\\../login']) {
      expect([counted('/health/*', ['/login', requested, '/login']), requested]).toEqual([true, requested])
    }
  })

  // An empty one would let everything through.
  test('that says nothing is rejected', () => {
    expect(() => setUp({ quota: perMinute(1), skip: {} })).toThrow('skip is empty')
    expect(() => setUp({ quota: perMinute(1), skip: { ips: '10.0.0.1' } as never })).toThrow('Did you mean "ip"?')
  })
})
