import type { Request } from 'express'
import type { Store, Options as TheirOptions } from 'express-rate-limit'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Asked, bothTell, stopClock } from './pair.ts'

// express-rate-limit and ours get the same options and the same requests, and must give the same answers.

beforeEach(stopClock)
afterEach(() => void vi.useRealTimers())

const from = (address: string): Asked => ({ headers: { 'x-forwarded-for': address } })
const times = (n: number, asked: Asked = {}): readonly Asked[] => Array.from({ length: n }, () => asked)
const quiet = { validate: false }

/** A store that always reports the same. */
const storeOf = (totalHits: number, resetTime: Date | undefined): Store => ({
  increment: () => ({ totalHits, resetTime }),
  decrement: () => {},
  resetKey: () => {},
})

/** Past the limit, into a window's last millisecond, past its end, and again. */
const plain: readonly Asked[] = [
  ...times(3),
  { afterMs: 700 },
  { afterMs: 59_299 },
  { afterMs: 1 },
  ...times(3),
  { afterMs: 150_000 },
  ...times(2),
  from('198.51.100.7'),
]

const stories: readonly (readonly [string, () => Partial<TheirOptions>, readonly Asked[]])[] = [
  ['no options at all', () => ({ ...quiet }), times(7)],
  ['a limit', () => ({ limit: 3, ...quiet }), plain],
  ['a limit by its former name', () => ({ max: 2, ...quiet }), plain],
  ['a limit of 0', () => ({ limit: 0, ...quiet }), times(2)],
  ['undefined options', () => ({ limit: 2, windowMs: undefined as never, ...quiet }), times(3)],
  ['draft 6', () => ({ limit: 3, standardHeaders: 'draft-6', legacyHeaders: false, ...quiet }), plain],
  ['draft 7', () => ({ limit: 3, standardHeaders: 'draft-7', legacyHeaders: false, ...quiet }), plain],
  ['draft 8', () => ({ limit: 3, standardHeaders: 'draft-8', legacyHeaders: false, ...quiet }), plain],
  ['standard headers: true', () => ({ limit: 3, standardHeaders: true, ...quiet }), plain],
  ['both kinds of headers', () => ({ limit: 3, standardHeaders: 'draft-8', ...quiet }), plain],
  ['no headers', () => ({ limit: 1, legacyHeaders: false, ...quiet }), plain],
  ['no headers, by their former name', () => ({ limit: 1, headers: false, ...quiet }), plain],
  ['an unknown draft', () => ({ limit: 1, standardHeaders: 'draft-9' as never, ...quiet }), times(2)],
  ...[1_000, 1_500, 45_000, 90_000, 3_600_000, 7_200_000, 86_400_000, 172_800_000].map(
    (windowMs): (typeof stories)[number] => [
      `a window of ${windowMs} ms, by name`,
      () => ({ windowMs, limit: 1, standardHeaders: 'draft-8', ...quiet }),
      [{}, { afterMs: windowMs - 1 }, { afterMs: 1 }, { afterMs: windowMs / 2 }, { afterMs: windowMs / 2 + 1 }],
    ],
  ),
  ['a name', () => ({ limit: 1, standardHeaders: 'draft-8', identifier: 'api', ...quiet }), times(2)],
  [
    'a name by request',
    () => ({ standardHeaders: 'draft-8', identifier: async ({ method }) => method, ...quiet }),
    plain,
  ],
  ['a wait of its own', () => ({ limit: 1, retryAfter: 7, ...quiet }), times(2)],
  ['a wait by request', () => ({ limit: 1, retryAfter: async ({ path }: Request) => path.length, ...quiet }), times(2)],
  ['a wait without headers', () => ({ limit: 1, retryAfter: 7, legacyHeaders: false, ...quiet }), times(2)],
  [
    'a limit by request',
    () => ({ limit: async ({ method }) => (method === 'GET' ? 1 : 3), ...quiet }),
    [...times(2), ...times(2, { method: 'post' })],
  ],
  // Reproduces a bug: ours denied all of these requests, and sent "undefined" as the limit.
  ['a limit by request that is not a number', () => ({ limit: () => Number.NaN, ...quiet }), times(2)],
  ['no limit for a request', () => ({ limit: () => undefined as never, ...quiet }), times(1)],
  [
    'no limit for a request, in draft 8',
    () => ({ limit: () => undefined as never, standardHeaders: 'draft-8', legacyHeaders: false, ...quiet }),
    times(2),
  ],
  ['a store whose count is not a number', () => ({ store: storeOf(Number.NaN, undefined), ...quiet }), times(2)],
  // Reproduces a bug: ours failed the request.
  ...([0, 9] as const).map((hits): (typeof stories)[number] => [
    `a store that reports null as the end of a window, after ${hits} hits`,
    () => ({ store: storeOf(hits, null as never), standardHeaders: 'draft-7', ...quiet }),
    times(1),
  ]),
  [
    'a store that reports the end of a window as text',
    () => ({ store: storeOf(1, '2026-01-01T00:01:00.000Z' as never), ...quiet }),
    times(1),
  ],
  ['a message', () => ({ limit: 0, message: { error: 'enough' }, ...quiet }), times(1)],
  [
    'a message by request',
    () => ({ limit: 0, message: async ({ path }: Request) => `not ${path}`, ...quiet }),
    times(1),
  ],
  ['a status', () => ({ limit: 1, statusCode: 503, ...quiet }), times(2)],
  [
    'a handler',
    () => ({
      limit: 1,
      handler: (_req, res, _next, { statusCode, message, limit }) => void res.status(statusCode).json([message, limit]),
      ...quiet,
    }),
    times(2),
  ],
  ['a handler that calls next', () => ({ limit: 1, handler: (_req, _res, next) => next(), ...quiet }), times(3)],
  [
    'a handler that fails',
    () => ({
      limit: 0,
      handler: () => {
        throw new Error('no')
      },
      ...quiet,
    }),
    times(1),
  ],
  ['a property', () => ({ limit: 2, requestPropertyName: 'quota', ...quiet }), times(2)],
  [
    'a key',
    () => ({ limit: 1, keyGenerator: (req) => req.get('x-key') ?? 'none', standardHeaders: 'draft-8', ...quiet }),
    [{}, {}, { headers: { 'x-key': 'b' } }],
  ],
  ['an asynchronous key', () => ({ limit: 1, keyGenerator: async () => 'all', ...quiet }), times(2)],
  [
    'a key that fails',
    () => ({
      keyGenerator: () => {
        throw new Error('whose?')
      },
      ...quiet,
    }),
    times(1),
  ],
  [
    'requests that are skipped',
    () => ({ limit: 1, skip: async ({ path }: Request) => path === '/free', ...quiet }),
    [{}, { path: '/free' }, {}],
  ],
  [
    'a skip that fails',
    () => ({
      skip: () => {
        throw new Error('skip?')
      },
      ...quiet,
    }),
    times(1),
  ],
  // Reproduces a bug: ours called the function for IPv4 clients, too.
  [
    'a subnet by request that is for IPv6 only',
    () => ({
      ipv6Subnet: () => {
        throw new Error('no IPv6')
      },
      ...quiet,
    }),
    [from('192.0.2.7'), from('2001:db8::1')],
  ],
  ...[
    '2001:db8::1',
    '2001:db8:0:1::1',
    '2001:db8:1:0:1:0:0:1',
    '::1',
    '::ffff:192.0.2.7',
    '::192.0.2.7',
    'fe80::1:2:3',
    '1:0:0:2:0:0:0:3',
    'a:b:c:d:e:f:1:2',
    '0:0:1::',
  ].flatMap((address): readonly (typeof stories)[number][] => [
    [`an address of ${address}`, () => ({ limit: 2, ...quiet }), times(3, from(address))],
    [`all of an address of ${address}`, () => ({ ipv6Subnet: false, ...quiet }), [from(address)]],
    [`a half of an address of ${address}`, () => ({ ipv6Subnet: async () => 64, ...quiet }), [from(address)]],
  ]),
]

test.each(stories)('answers like express-rate-limit with %s', async (_, options, story) => {
  const [theirs, ours] = await bothTell(options, story)
  expect(ours).toEqual(theirs)
})

/** Requests of which some fail, with time to take them off the count before the next one. */
const mixed: readonly Asked[] = [
  { path: '/fails' },
  {},
  { path: '/fails' },
  { path: '/broken' },
  {},
  { path: '/fails', afterMs: 60_000 },
  { path: '/broken' },
  {},
  {},
  {},
]

test.each<[string, Partial<TheirOptions>]>([
  ['failed', { skipFailedRequests: true }],
  ['successful', { skipSuccessfulRequests: true }],
  ['all', { skipFailedRequests: true, skipSuccessfulRequests: true }],
  ['what it calls failed', { skipFailedRequests: true, requestWasSuccessful: async ({ path }) => path === '/fails' }],
])('takes %s requests off the count like express-rate-limit', async (_, options) => {
  const [theirs, ours] = await bothTell(() => ({ limit: 2, ...quiet, ...options }), mixed)
  expect(ours).toEqual(theirs)
})
