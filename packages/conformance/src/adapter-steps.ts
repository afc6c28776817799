import assert from 'node:assert/strict'
import { perMinute } from '@spillway/core'
import fc from 'fast-check'
import { fakeClock } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import type { AdapterBounds, NeutralOptions, NeutralRequest, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'
import { isLong, runsOf } from './runs.ts'
import { countTextSteps } from './text-steps.ts'

/** As much as servers accept, or a third of it: visits grow with the length. Node's limit is 16 KiB for all headers. */
const LENGTH = /* @__PURE__ */ isLong() ? 15_000 : 5_000

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
      '[',
      '][',
      'a[][]&',
      'k0[x][y]&',
      'k0[n][',
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

/** The same targets as whole URLs. */
const URLS: readonly Text[] = /* @__PURE__ */ made(() =>
  TEXTS.filter(([where]) => where === 'path' || where === 'query').map(([where, make, repeated]) => [
    `URL with ${where}`,
    (text) => ({ path: `http://a.example${make(text).path}` }),
    repeated,
  ]),
)

/** What proxies write. */
const ADDRESSES: readonly Text[] = /* @__PURE__ */ made(() => [
  ['header', header('x-forwarded-for'), ['10.0.0.1, ', ',', '1', ' ', '"', '::,', '[::1]:80,']],
  [
    'header',
    header('forwarded'),
    ['for=10.0.0.1, ', 'for=10.0.0.1;', ',', ';', '"', '\\"', '\\\\"', '\\', ' ', 'for="[::1]";', 'for="\\"";', ',"'],
  ],
])

/** The characters of a request as an adapter reads it. */
function sizeOf({ path = '' }: NeutralRequest, isParsed: boolean): number {
  // Express has whole URLs parsed, too.
  const isUrl = path.startsWith('http:')
  if (!isParsed && !isUrl) return LENGTH
  return Math.max(LENGTH, new URL(isUrl ? path : `http://a${path}`).href.length - 'http://a/?n='.length)
}

/** What random texts are made of. */
const URL_TOKENS: readonly string[] = /* @__PURE__ */ made(() =>
  '%ff %61 %30 %2f %5c %2F %2e %3f %23 %26 %6e %c3%a9 %e2%82 % a A 5 0 0x 5e1 n n= k0 k0= k1[a]= = & ? # / // . .. \\ " \' + - ; @ : [ ] { | ^ < ( ~ *'.split(
    ' ',
  ),
)
const COOKIE_TOKENS: readonly string[] = /* @__PURE__ */ made(() => [
  ...'a=1 k0 k0= k1= %6b0 %61 %ff %22 % ; = " \\ 5 , +'.split(' '),
  ' ',
])
const NUMBER_TOKENS: readonly string[] = /* @__PURE__ */ made(() => [...'5 0 , x e . - + 0x 0b 1e "'.split(' '), ' '])
const ADDRESS_TOKENS: readonly string[] = /* @__PURE__ */ made(() => [
  ...'10.0.0.1 10.0.0.2:80 ::1 [::1] [::1]:80 1 for= For= by= for="[::1]:80" proto=http , ; = : [ ] " \\ \\" %'.split(
    ' ',
  ),
  ' ',
])

/** Where random texts are, and what they are made of. */
const RANDOM_TEXTS: readonly (readonly [
  where: string,
  make: (text: string) => NeutralRequest,
  tokens: readonly string[],
])[] = /* @__PURE__ */ made(() => [
  ['path', (text) => ({ path: `/${text}` }), URL_TOKENS],
  ['query', (text) => ({ path: `/?${text}` }), URL_TOKENS],
  ['n', (text) => ({ path: `/?n=${text}` }), URL_TOKENS],
  ['k0', (text) => ({ path: `/?k0=${text}` }), URL_TOKENS],
  ['cookie', header('cookie'), COOKIE_TOKENS],
  ['x-weight', header('x-weight'), NUMBER_TOKENS],
  ['x-forwarded-for', header('x-forwarded-for'), ADDRESS_TOKENS],
  ['forwarded', header('forwarded'), ADDRESS_TOKENS],
])

/** The random texts that are sent to each place: a few that are the same each time, or many others. */
const RUNS = /* @__PURE__ */ made(() => ({
  numRuns: runsOf(3),
  seed: isLong() ? Math.floor(Math.random() * 2 ** 31) : 49,
}))

/** A head, what is repeated, and a tail, which is repeated, too. */
type Parts = readonly [head: string, unit: string, tail: string]

/** Random texts at these places were above the bound once, and no listed text was. */
const FOUND: Readonly<Record<string, readonly Parts[]>> = /* @__PURE__ */ made(() => ({
  path: [
    ['//', 'A', ''],
    ['(', '+', ';k0%3f'],
    [']5', '#', 'a%e2%82'],
    [']5', '#', 'a%e2%82%'],
    ['&', '%61', '#='],
    [';', '%30%30=|', ''],
    ['%2Fk1[a]=||;;*', '^', '5^%2f'],
  ],
  query: [['&', '%61', '#=']],
  n: [['&', '%61', '#=']],
  k0: [['&', '%61', '#=']],
}))

/** A text of full length of these parts. */
function textOf([head, unit, tail]: Parts): string {
  const times = (part: string, length: number): string => part.repeat(Math.max(1, length / part.length))
  const text = tail === '' ? head + times(unit, LENGTH) : head + times(unit, LENGTH / 2) + times(tail, LENGTH / 2)
  return text.slice(0, LENGTH)
}

function randomParts(tokens: readonly string[]): readonly Parts[] {
  const token = fc.constantFrom(...tokens)
  const some = fc.array(token, { maxLength: 3 }).map((all) => all.join(''))
  const often = fc.tuple(token, fc.constantFrom(1, 1, 2, 90, 390)).map(([each, times]) => each.repeat(times))
  const repeated = fc.array(often, { minLength: 1, maxLength: 3 }).map((all) => all.join(''))
  return fc.sample(fc.tuple(some, repeated, fc.oneof(some, fc.constant(''))), RUNS)
}

const numbered = <T>(make: (i: number) => T): readonly T[] => Array.from({ length: 10 }, (_, i) => make(i))

/** Ten policies of each kind, of which each reads something else. */
const policies = /* @__PURE__ */ made(() => [
  { name: 'all', quota: perMinute(1_000_000) },
  ...numbered((i) => ({ name: `match ${i}`, quota: perMinute(1), match: { path: `/nowhere/${i}/*` } })),
  ...numbered((i) => ({ name: `query ${i}`, quota: perMinute(1_000_000), key: `query:k${i}` })),
  ...numbered((i) => ({ name: `nested ${i}`, quota: perMinute(1_000_000), key: `query:k${i}[n]` })),
  ...numbered((i) => ({ name: `cookie ${i}`, quota: perMinute(1_000_000), key: `cookie:k${i}` })),
  ...numbered((i) => ({ name: `cost ${i}`, quota: perMinute(1_000_000), cost: 'query:n', maxCost: i + 1 })),
  ...numbered((i) => ({ name: `list ${i}`, quota: perMinute(1_000_000), key: ['method', 'header:x-weight'] })),
  ...numbered((i) => ({ name: `header ${i}`, quota: perMinute(1_000_000), key: 'header:x-weight' })),
  ...numbered((i) => ({ name: `value ${i}`, quota: perMinute(1), match: { header: { 'x-weight': `never ${i}` } } })),
  ...numbered((i) => ({ name: `weight ${i}`, quota: perMinute(1_000_000), cost: 'header:x-weight', maxCost: i + 1 })),
])

/** The texts for an app that trusts this header: those that are no addresses are sent to one app. */
function textsFor(
  trusted: 'x-forwarded-for' | 'forwarded',
  takesUrls: boolean,
): readonly (readonly [name: string, request: NeutralRequest])[] {
  const listed = trusted === 'forwarded' ? ADDRESSES : [...TEXTS, ...(takesUrls ? URLS : []), ...ADDRESSES]
  const random = RANDOM_TEXTS.filter(([where]) => (where === 'forwarded') === (trusted === 'forwarded'))
  return [
    ...listed.flatMap(([where, make, repeated]) =>
      repeated.map((text) => [`${where} ${JSON.stringify(text)}`, make(text.repeat(LENGTH / text.length))] as const),
    ),
    ...random.flatMap(([where, make, tokens]) =>
      [...(FOUND[where] ?? []), ...randomParts(tokens)].map((parts) => {
        const shown = parts.map((part) => part.slice(0, 40)).join('|')
        return [`${where} ${JSON.stringify(shown)} of ${RUNS.seed}`, make(textOf(parts))] as const
      }),
    ),
  ]
}

/**
 * Tests that a request is read in time linear in its bytes, once for all policies: otherwise a client that is already denied
 * blocks the event loop.
 */
export function testTextSteps(
  test: TestFunction,
  mount: (options: NeutralOptions) => Send | Promise<Send>,
  { mostVisits = 4, parsesUrls = false, parse = () => {}, takesUrls = false }: AdapterBounds,
): void {
  if (mostVisits === Number.POSITIVE_INFINITY) return
  for (const trusted of ['x-forwarded-for', 'forwarded'] as const) {
    test(`visits each byte of a request at most ${mostVisits} times, however many policies there are: ${trusted}`, async () => {
      let before = 0
      let steps = 0
      const send = await mount({
        policies,
        store: modelStore(fakeClock()),
        trustProxy: { cidrs: ['127.0.0.1', '::1', '10.0.0.0/8'], header: trusted },
        skip: (request: never) => {
          parse(request)
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
        const few = await stepsOf({})
        for (const [name, request] of textsFor(trusted, takesUrls)) {
          const visits = ((await stepsOf(request)) - few) / sizeOf(request, parsesUrls)
          // Texts of different lengths are not repeated to exactly the same length.
          if (visits > mostVisits + 0.05) above.push(`${name}: ${visits.toFixed(1)}`)
        }
      } finally {
        visited.restore()
      }
      assert.deepEqual(above, [])
    })
  }
}
