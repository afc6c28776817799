import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { httpGuard, type RateLimitOptions, type Verdict } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { type FakeRequest, reader, setUp } from './fake-request.ts'

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

  // Reproduces a bug: a translated address counted as IPv4, but was in no IPv4 network.
  test('finds the IPv4 address that a translator has written as IPv6', () => {
    const skipped = (listed: string, ip: string): boolean =>
      setUp({ quota: perMinute(1), skip: { ip: listed } }).evaluate({ ip }).decision === undefined
    for (const listed of [
      '10.0.0.0/8',
      '10.0.0.1',
      '::ffff:10.0.0.0/104',
      '64:ff9b::/96',
      '64:ff9b::10.0.0.1',
      '::/0',
    ]) {
      expect([skipped(listed, '64:ff9b::10.0.0.1'), listed]).toEqual([true, listed])
    }
    expect(skipped('10.0.0.0/8', '64:ff9b::11.0.0.1')).toBe(false)
    expect(skipped('10.0.0.0/8', '64:ff9b:1::10.0.0.1')).toBe(false)
    // A list of translated addresses is none of IPv4 addresses: `64:ff9b::/96` would be all of them.
    expect(skipped('64:ff9b::/96', '10.0.0.1')).toBe(false)
  })

  test('goes by the address that is counted, as trusted as that is', () => {
    const { evaluate } = setUp({ quota: perMinute(1), trustProxy: 1, skip: { ip: '198.51.100.1' } })
    const by = (forwarded: string) => evaluate({ headers: { 'x-forwarded-for': forwarded } }).decision
    expect(by('198.51.100.1')).toBeUndefined()
    expect(by('198.51.100.1, 203.0.113.9')).toBeDefined()
  })

  // Behind a mount of h3, no pattern skipped a request: all readings of its path had to match, and one lacks the prefix.
  test('goes by the whole path if the reader has one, and otherwise by all readings', () => {
    const counted = (skip: string, path: readonly string[], wholePath?: readonly string[]): boolean => {
      const guard = httpGuard(
        { quota: perMinute(1), skip: { path: skip }, store: modelStore(fakeClock()) },
        { ...reader, ...(wholePath && { wholePath: () => wholePath }) },
      )
      return (guard({ path }) as Verdict<unknown>).decision !== undefined
    }
    const patterns = ['/api/health', '/api/*', '/health', '/health/*']
    const paths = ['/api/health', '/health']
    expect(patterns.map((skip) => counted(skip, paths, ['/api/health']))).toEqual([false, false, true, true])
    expect(patterns.map((skip) => counted(skip, paths))).toEqual([true, true, true, true])
  })

  // An empty one would let everything through.
  test('that says nothing is rejected', () => {
    expect(() => setUp({ quota: perMinute(1), skip: {} })).toThrow('skip is empty')
    expect(() => setUp({ quota: perMinute(1), skip: { ips: '10.0.0.1' } as never })).toThrow('Did you mean "ip"?')
  })
})
