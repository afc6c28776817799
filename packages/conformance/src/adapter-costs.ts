import assert from 'node:assert/strict'
import { type Decision, perMinute } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, NeutralResponse, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** The cost of values, at most 20; 2 if they are no number above 0. */
const NUMBERS: readonly (readonly [cost: number, ...values: string[]])[] = /* @__PURE__ */ made(() => [
  [9, '9', '+9', '9.0', '8.1', '9e0', '.9e1', '0x9', '0X9', '0b1001', '0o11', ' 9', '9\t', '009', '\u00a09'],
  [1, '1', '0.4', '1e-3'],
  // `parseInt` and `parseFloat` read a number, `Number` does not, or a smaller one.
  [9, '9px', '9 pages', '9,000', '0x9z', '8.5px', '9e-1'],
  [20, '20', '21', '1e3', '900e-2', '1e400', 'Infinity', '9'.repeat(400), '0xffffffffffffffffff'],
  // Too long to be read to its end.
  [20, `${'0'.repeat(500)}9`, `0x${'0'.repeat(500)}9`, `0.${'0'.repeat(500)}9e501`, '9'.repeat(500)],
  [2, '', ' ', '0', '-0', '-3', '-1e9', '-Infinity', 'NaN', 'x', 'null', 'true', '٣', '0b2', '0x', '$9'],
  [2, 'x'.repeat(500), `-${'9'.repeat(500)}`],
])

const SEVERAL: readonly (readonly [cost: number, ...paths: string[]])[] = [
  [9, '/?n=9', '/?n=1&n=9', '/?n=9&n=1', '/?%6E=9&n=1', '/?n=9&n=x', '/?n=x&n=9&n='],
  [9, '/?n[]=9', '/?n[]=1&n[]=9', '/?n[0][0]=9', '/?n[a]=9&n=1', '/?n%5B0%5D=9', '/?n=1&n[x][y][]=9'],
  [2, '/?n=1&n=x', '/?n=x&n=', '/?n', '/?N=9', '/', '/?n[a]=x', '/?na=9'],
  [20, '/?n=5&n=99'],
]

/** The same for a parameter whose name has brackets: parsers such as qs make objects and lists of it. */
const BRACKETS: readonly (readonly [name: string, cost: number, ...paths: string[]])[] = [
  [
    'page[n]',
    9,
    '/?page[n]=9',
    '/?page%5Bn%5D=9',
    '/?page[n]=1&page[n]=9',
    '/?page[n][]=9',
    '/?page[n]=9&page[n][a]=1',
  ],
  ['page[n]', 2, '/?page[m]=9', '/?page=9', '/?page[n]=x', '/?page[nn]=9', '/?n=9'],
  ['n[]', 9, '/?n[]=9', '/?n[]=9&n[]=1', '/?n[]=1&n%5B%5D=9'],
]

/** Tests costs that a client writes into its request. */
export function testWrittenCosts(test: TestFunction, mount: (options: NeutralOptions) => Send | Promise<Send>): void {
  const setUp = async () => {
    const options = { quota: perMinute(1_000_000), defaultCost: 2, maxCost: 20 } as const
    const parameter = await mount({ ...options, cost: 'query:n', store: modelStore(fakeClock()) })
    const header = await mount({ ...options, cost: 'header:x-n', store: modelStore(fakeClock()) })
    return { parameter, header }
  }
  const costOf = async (answer: Promise<NeutralResponse>): Promise<number> =>
    (JSON.parse((await answer).body) as { rateLimit: Decision }).rateLimit.cost

  // Reproduces a bug: digits only were a cost. A client wrote `pages=+50` and paid the default, and the handler read 50.
  test('costs the largest number that a handler can read', async () => {
    const { parameter, header } = await setUp()
    for (const [cost, ...values] of NUMBERS) {
      for (const value of values) {
        assert.equal(await costOf(parameter({ path: `/?n=${encodeURIComponent(value)}` })), cost, `?n=${value}`)
      }
      for (const value of values.filter((each) => !each.startsWith(' ') && !/[^ -~]/.test(each))) {
        assert.equal(await costOf(header({ headers: { 'x-n': value } })), cost, `x-n: ${value}`)
      }
    }
  })

  test('costs the largest of several values', async () => {
    const { parameter, header } = await setUp()
    for (const [cost, ...queries] of SEVERAL) {
      for (const path of queries) assert.equal(await costOf(parameter({ path })), cost, path)
    }
    for (const value of ['9, 1', '1, 9', '1,9', 'x, 9', ', 9,']) {
      assert.equal(await costOf(header({ headers: { 'x-n': value } })), 9, value)
    }
  })

  // Reproduces a bug: Express' extended parser makes `{ page: { n: '9' } }` of `page[n]=9`, so that each request cost the default.
  test('costs the number in a parameter whose name has brackets', async () => {
    for (const [name, cost, ...paths] of BRACKETS) {
      const store = modelStore(fakeClock())
      const send = await mount({ quota: perMinute(1_000), cost: `query:${name}`, defaultCost: 2, maxCost: 20, store })
      for (const path of paths) assert.equal(await costOf(send({ path })), cost, `${name} of ${path}`)
    }
  })
}
