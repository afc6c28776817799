import assert from 'node:assert/strict'
import { perMinute } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, NeutralRequest, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

const cookie = (value: string): NeutralRequest => ({ headers: { cookie: value } })
const query = (value: string): NeutralRequest => ({ path: `/${value}` })

/** Requests of one client, and a request of another client. */
type Case = readonly [what: string, key: string, same: readonly NeutralRequest[], other: NeutralRequest]

const cases: readonly Case[] = /* @__PURE__ */ made(() => [
  [
    'by a parameter, encoded or repeated',
    'query:user',
    ['?user=ann', '?user=ann&user=ann', '?x=1&user=a%6En&user=ann', '?%75ser=ann', '?us%65r=ann&user=ann'].map(query),
    query('?user=bob'),
  ],
  [
    'without a key if the parameter is empty or has a similar name',
    'query:user',
    ['', '?user', '?user=', '?user=&user=', '?username=ann', '?USER=ann'].map(query),
    query('?user=ann'),
  ],
  // Reproduces a bug: the first value counted, but Elysia passes the last to handlers, and Hono 4.12 a value of another
  // spelling of the name. With it, a client chose its key.
  [
    'without a key if the values of a repeated parameter differ',
    'query:user',
    [
      '?user=ann&user=bob',
      '?user=bob&user=ann',
      '?user=&user=ann',
      '?user=ann&user=ann&user=bob',
      '?%75ser=ann&user=bob',
    ].map(query),
    query('?user=ann'),
  ],
  [
    'by a cookie, quoted, encoded, repeated or not',
    'cookie:sid',
    ['sid=ann', 'sid=ann; sid=ann', 'x=1;sid = ann', 'sid="ann"', 'sid=%61nn', 'sid="a%6en"; sid=a%6en'].map(cookie),
    cookie('sid=bob'),
  ],
  // Reproduces a bug: the first value counted, but Next.js, Deno and Hono 4.12 read the last. With it, a client chose its key: 20 of
  // 20 requests passed a limit of 2.
  [
    'without a key if the values of a repeated cookie differ, or if some parsers decode its name',
    'cookie:sid',
    [
      'sid=ann; sid=bob',
      'sid=bob; sid=ann',
      'sid=; sid=ann',
      'sid=ann; sid=ann; sid=bob',
      's%69d=ann',
      'sid=bob; s%69d=bob',
    ].map(cookie),
    cookie('sid=ann'),
  ],
  // Reproduces a bug: for `?user[a]=1`, a parser such as qs has an object in place of text.
  [
    'without a key if a parameter is a list or an object of parameters',
    'query:user',
    [
      '?user[a]=1',
      '?user[][a]=1',
      '?user=ann&user[a]=1',
      '?user[a]=1&user=ann&user=ann',
      '?user%5B%5D=bob&user=ann',
    ].map(query),
    query('?user=ann'),
  ],
  // Reproduces a bug: Express' extended parser makes `{ f: { user: 'ann' } }` of `f[user]=ann`, so that all users had one key.
  [
    'by a parameter whose name has brackets',
    'query:f[user]',
    ['?f[user]=ann', '?f%5Buser%5D=ann', '?f[user]=ann&f[user]=ann', '?f[user]=ann&f[x]=bob'].map(query), // cspell:ignore Buser
    query('?f[user]=bob'),
  ],
  [
    'without a key if the values of such a parameter differ',
    'query:f[user]',
    [
      '?f[user]=ann&f[user]=bob',
      '?f[user][]=bob&f[user]=ann',
      '?f[user]=ann&f[user][a]=ann',
      '?f=ann',
      '?user=ann',
    ].map(query),
    query('?f[user]=ann'),
  ],
  // Reproduces a bug: a cookie without `=` lost its last letter, and the rest was its name.
  [
    'without a key if a cookie has no value, no name, or a similar name',
    'cookie:sid',
    ['sid', 'sidA', 'sid=', 'sid=""', '=sid', 'sidB; sid', 'SID=ann', 'x-sid=ann'].map(cookie),
    cookie('sidC; sid=ann'),
  ],
])

/** Cookies that only some parsers skip, before a cookie that all parsers read. */
const DISPUTED = ['sid =', 'sid=a"b', 'sid=a\\b', 'sid="a', 'sid\u00a0=', 'sid={"a":1}']

/** Tests different spellings of a key: no spelling counts as another client. */
export function testKeySpellings(test: TestFunction, mount: (options: NeutralOptions) => Send | Promise<Send>): void {
  for (const [what, key, same, other] of cases) {
    test(`counts a client ${what}`, async () => {
      const options = { quota: perMinute(same.length), key, store: modelStore(fakeClock()) }
      const send = await mount(options as NeutralOptions)
      for (const request of same) assert.equal((await send(request)).status, 200, JSON.stringify(request))
      for (const request of same) assert.equal((await send(request)).status, 429, JSON.stringify(request))
      assert.equal((await send(other)).status, 200, JSON.stringify(other))
    })
  }

  test('counts a client behind a proxy by its address, however the proxy writes it', async () => {
    for (const [same, other] of [
      [['198.51.100.7', '198.51.100.7:5123', '::ffff:198.51.100.7', '[::FFFF:c633:6407]:80'], '198.51.100.8'],
      [['fe80::1', 'fe80::1%eth0', '[fe80::2%25eth1]:443', 'FE80:0:0:ff::1'], 'fe81::1'],
      [['::', '::1', '[::]:80', '0:0:0:0:0:0:0:0', '::%lo'], '0:0:0:100::1'],
    ] as const) {
      for (const [header, written] of [
        ['x-forwarded-for', (address: string) => `203.0.113.9, ${address}`],
        [
          'forwarded',
          (address: string) => `for=203.0.113.9, for="${/^[^[].*:.*:/.test(address) ? `[${address}]` : address}"`,
        ],
        ['x-real-ip', (address: string) => address],
      ] as const) {
        const options = {
          quota: perMinute(same.length),
          trustProxy: { hops: 1, header },
          store: modelStore(fakeClock()),
        }
        const send = await mount(options as NeutralOptions)
        const from = async (address: string) => (await send({ headers: { [header]: written(address) } })).status
        for (const address of same) assert.equal(await from(address), 200, `${header} ${address}`)
        for (const address of same) assert.equal(await from(address), 429, `${header} ${address}`)
        assert.equal(await from(other), 200, `${header} ${other}`)
      }
    }
  })

  test('ignores a repeated cookie that parsers read in different ways, with any value', async () => {
    const send = await mount({ quota: perMinute(1), key: 'cookie:sid', store: modelStore(fakeClock()) })
    assert.equal((await send()).status, 200)
    for (const [i, disputed] of DISPUTED.entries()) {
      const { status } = await send({ headers: { cookie: `${disputed}${i}; sid=ann` } })
      assert.equal(status, 429, disputed)
    }
  })
}
