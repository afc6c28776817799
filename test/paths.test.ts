import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { deliver } from './hostile/deliver.ts'
import { apps } from './routed-apps.ts'
import { runsOf } from './runs.ts'

// However a request is spelt, and whatever rewrites it before the limiter: if it reaches the handler of a route, the
// policy for the path of that route has counted it, and no `skip` of other paths has skipped it. `npm run test:long` has
// more spellings of each.
const RUNS = runsOf(400)

const encoded = (letter: string): string => `%${(letter.codePointAt(0) as number).toString(16)}`
/** Mostly the first. */
const mostly = (first: string, ...others: readonly string[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(...others) })
const letter = (text: string) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(text) },
    { weight: 1, arbitrary: fc.constantFrom(text.toUpperCase(), encoded(text), encoded(text).toUpperCase()) },
  )
const word = (text: string) => fc.tuple(...[...text].map(letter)).map((letters) => letters.join(''))
const slash = mostly('/', '//', '/./', '/x/../', '/%2e%2e/', '%2f', '\\', '/\t')
const prefix = fc.oneof(
  fc.constant(''),
  fc.constant('/v1'),
  fc.constantFrom('/old', '/old/v1', '/v1/old', '/public', '/public/v1', '/v1/public'),
  fc.tuple(slash, word('v1')).map((parts) => parts.join('')),
)
const origin = mostly('', 'http://h', 'HTTP://h', 'http://h:80', 'https://u@h', 'http://h?', 'http:')
const ending = mostly('', '/', '//', '?', '?a=/x', '#', '#/x', ';', ';a=b', '/;a', '%3f', '%23', '%00', '.')
const target = fc
  .tuple(origin, prefix, slash, fc.oneof({ weight: 5, arbitrary: word('login') }, fc.constant('old')), ending)
  .map((parts) => parts.join(''))

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
})

test.each(Object.entries(apps))('%s: what reaches a route is counted by the policy for its path', async (_, app) => {
  let reached = 0
  const send = async (url: string): Promise<void> => {
    const delivery = { method: 'GET', target: url, lines: [], from: '203.0.113.7' }
    const { headers } = await deliver(app, delivery)
    if (!headers.has('x-login')) return
    reached++
    expect(headers.get('ratelimit'), url).toMatch(/^"login";r=/)
  }
  // Each app has one of these routes: what is random may miss it in all runs.
  const examples: [string][] = [['/login'], ['/v1/login'], ['/old/v1/login'], ['http://h/public/login']]
  await fc.assert(fc.asyncProperty(target, send), { numRuns: RUNS, examples })
  expect(reached).toBeGreaterThan(0)
})
