import assert from 'node:assert/strict'
import { type Decision, perMinute } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, NeutralRequest, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

const cookie = (value: string): NeutralRequest => ({ headers: { cookie: value } })
const query = (value: string): NeutralRequest => ({ path: `/${value}` })

/** Requests of one client, and a request of another client. */
type Case = readonly [what: string, key: string, same: readonly NeutralRequest[], other: NeutralRequest]

const cases: readonly Case[] = [
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
    'by the first of repeated cookies, quoted and encoded or not',
    'cookie:sid',
    ['sid=ann', 'sid=ann; sid=bob', 'x=1;sid = ann', 'sid="ann"', 'sid=%61nn', 'sid="a%6en"'].map(cookie),
    cookie('sid=bob; sid=ann'),
  ],
  // Reproduces a bug: a cookie without `=` lost its last letter, and the rest was its name.
  [
    'without a key if a cookie has no value, no name, or a similar name',
    'cookie:sid',
    ['sid', 'sidA', 'sid=', 'sid=""', '=sid', 'sidB; sid', 'SID=ann', 'x-sid=ann'].map(cookie),
    cookie('sidC; sid=ann'),
  ],
]

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

  test('costs the most of the values of a repeated parameter', async () => {
    const costs: number[] = []
    for (const path of ['/?n=9', '/?n=1&n=9', '/?n=9&n=1', '/?n=4&n=x', '/?n=x&n=', '/?%6E=9&n=1', '/?n=5&n=99']) {
      const options = { quota: perMinute(100), cost: 'query:n', defaultCost: 2, maxCost: 20 } as const
      const send = await mount({ ...options, store: modelStore(fakeClock()) })
      costs.push((JSON.parse((await send({ path })).body) as { rateLimit: Decision }).rateLimit.cost)
    }
    assert.deepEqual(costs, [9, 9, 9, 4, 2, 9, 20])
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
