import assert from 'node:assert/strict'
import { perMinute } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, NeutralRequest, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'
import { countTextSteps } from './text-steps.ts'

/** As much as servers accept: Node's limit is 16 KiB for all headers. */
const LENGTH = 15_000

const header =
  (name: string) =>
  (text: string): NeutralRequest => ({ headers: { [name]: text } })

/** Where a request has text, and what is repeated in it. */
type Text = readonly [where: string, make: (text: string) => NeutralRequest, repeated: readonly string[]]

/** What is read of any request. */
const TEXTS: readonly Text[] = /* @__PURE__ */ made(() => [
  [
    'path',
    (text) => ({ path: `/${text}` }),
    [
      '%ff/',
      '%61/',
      'a/',
      'A',
      '/',
      '%2f',
      '%5c',
      '../',
      './',
      '%2e%2e/',
      '\\',
      '%',
      '%e2%82',
      '&',
      'a&n=',
      '"',
      '&"',
      '?%&.',
    ],
  ],
  [
    'query',
    (text) => ({ path: `/?${text}` }),
    [
      'a&',
      '%ff&',
      '%61&',
      '%ff=%ff&',
      'k0=1&',
      'k0=%61&',
      'k0=%ff&',
      'k0[]=a&',
      'n=5&',
      'n=55555555555x&',
      'n=%35&',
      '=',
      '%',
      '?%ff',
      '?k0=%ff',
      '?#',
      "'",
      '"',
      '&"%',
    ],
  ],
  [
    'query',
    (text) => ({ path: `/?n=${text}` }),
    ['5', '0', '%35', '%ff', '5%ff', '+%ff', '+', '?', '=', '5x', '#', '%', "'", "?'"],
  ],
  ['query', (text) => ({ path: `/?k0=${text}` }), ['%', '%e2%82', '?%', '?k0=', '"', "'?"]],
  [
    'cookie',
    header('cookie'),
    ['a=1; ', ';', '=', 'k0=1; ', 'k0=%61; ', 'k0=%ff;', '%61=1;', '%6b0=1; ', 'k0="";', 'k0=";', ' ', '%ff;'],
  ],
  ['header', header('x-weight'), ['5,', '5', ',', '5x', ' ', '5555555x,']],
])

/** What proxies write. */
const ADDRESSES: readonly Text[] = /* @__PURE__ */ made(() => [
  ['header', header('x-forwarded-for'), ['10.0.0.1, ', ',', '1', ' ', '"', '::,', '[::1]:80,']],
  ['header', header('forwarded'), ['for=10.0.0.1, ', 'for=10.0.0.1;', ',', ';', '"', '\\"', '\\', ' ', 'for="[::1]";']],
])

/** The characters of a request: a URL parser, before an adapter reads it, writes each quote as three. */
const sizeOf = ({ path = '' }: NeutralRequest): number =>
  Math.max(LENGTH, new URL(`http://a${path}`).href.length - 'http://a/?n='.length)

const numbered = <T>(make: (i: number) => T): readonly T[] => Array.from({ length: 10 }, (_, i) => make(i))

/** Ten policies of each kind, of which each reads something else. */
const policies = /* @__PURE__ */ made(() => [
  { name: 'all', quota: perMinute(1_000_000) },
  ...numbered((i) => ({ name: `match ${i}`, quota: perMinute(1), match: { path: `/nowhere/${i}/*` } })),
  ...numbered((i) => ({ name: `query ${i}`, quota: perMinute(1_000_000), key: `query:k${i}` })),
  ...numbered((i) => ({ name: `cookie ${i}`, quota: perMinute(1_000_000), key: `cookie:k${i}` })),
  ...numbered((i) => ({ name: `cost ${i}`, quota: perMinute(1_000_000), cost: 'query:n', maxCost: i + 1 })),
  ...numbered((i) => ({ name: `weight ${i}`, quota: perMinute(1_000_000), cost: 'header:x-weight', maxCost: i + 1 })),
])

/**
 * Tests that a request is read in time linear in its bytes, once for all policies: otherwise a client that is already denied
 * blocks the event loop.
 */
export function testTextSteps(
  test: TestFunction,
  mount: (options: NeutralOptions) => Send | Promise<Send>,
  mostVisits: number,
): void {
  for (const [trusted, texts] of [
    ['x-forwarded-for', [...TEXTS, ...ADDRESSES]],
    ['forwarded', ADDRESSES],
  ] as const) {
    test(`visits each byte of a request at most ${mostVisits} times, however many policies there are: ${trusted}`, async () => {
      let before = 0
      let steps = 0
      const send = await mount({
        policies,
        store: modelStore(fakeClock()),
        trustProxy: { cidrs: ['127.0.0.1', '::1', '10.0.0.0/8'], header: trusted },
        skip: () => {
          before = visited.count()
          return false
        },
        onDecision: () => {
          steps ||= visited.count() - before
        },
      } as unknown as NeutralOptions)
      // Once for all requests: engines compile code anew after a method of the language was replaced.
      const visited = countTextSteps()
      const stepsOf = async (request: NeutralRequest): Promise<number> => {
        steps = 0
        await send(request)
        return steps
      }
      const above: string[] = []
      try {
        for (const [where, make, repeated] of texts) {
          for (const text of repeated) {
            const few = await stepsOf(make(text))
            const request = make(text.repeat(LENGTH / text.length))
            const visits = ((await stepsOf(request)) - few) / sizeOf(request)
            // Texts of different lengths are not repeated to exactly the same length.
            if (visits > mostVisits + 0.05) above.push(`${where} ${JSON.stringify(text)}: ${visits.toFixed(1)}`)
          }
        }
      } finally {
        visited.restore()
      }
      assert.deepEqual(above, [])
    })
  }
}
