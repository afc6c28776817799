import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import { jsonParser } from '../src/log/json.ts'
import { shapeOf } from '../src/log/json-shape.ts'

type Json = Readonly<Record<string, unknown>>

const read = (
  line: string,
  json: Json,
  picked: readonly (string | undefined)[],
  known = picked.filter((path) => path !== undefined),
  passed: readonly string[] = [],
) => shapeOf(JSON.stringify(json), json, { picked, passed }, known)?.(line)

describe('the shape of a line', () => {
  const json = { t: 1, ip: 'a', req: { url: '/a' }, ok: true, more: { a: ['b', { c: 1 }], d: {} } }
  const picked = ['t', 'ip', 'req.url', undefined]

  test.each<[string, string, readonly unknown[] | undefined]>([
    ['the line itself', JSON.stringify(json), [1, 'a', '/a', undefined]],
    ['other values', '{"t":-2.5e3,"ip":"","req":{"url":"ü"},"ok":"x","more":{}}', [-2500, '', 'ü', undefined]],
    ['nested lists', '{"t":0,"ip":"b","req":{"url":"c"},"ok":0,"more":{"x":[[],[{"a":1,"b":2}]]}}', undefined],
    [
      'other lists',
      '{"t":0,"ip":"b","req":{"url":"c"},"ok":0,"more":{"x":[1,[2,3],{"a":1}]}}',
      [0, 'b', 'c', undefined],
    ],
    ['text instead of a number', '{"t":"1","ip":"a","req":{"url":"/a"},"ok":true,"more":{}}', undefined],
    ['another order', '{"ip":"a","t":1,"req":{"url":"/a"},"ok":true,"more":{}}', undefined],
    ['a name twice', '{"t":1,"ip":"a","req":{"url":"/a"},"ok":true,"more":{},"ip":"b"}', undefined],
    ['an escape', '{"t":1,"ip":"a\\"","req":{"url":"/a"},"ok":true,"more":{}}', undefined],
    ['a control character', '{"t":1,"ip":"a\u0000","req":{"url":"/a"},"ok":true,"more":{}}', undefined],
    ['a leading zero', '{"t":01,"ip":"a","req":{"url":"/a"},"ok":true,"more":{}}', undefined],
    ['a comma at the end', '{"t":1,"ip":"a","req":{"url":"/a"},"ok":true,"more":{"a":[1,]}}', undefined],
    ['no comma', '{"t":1,"ip":"a","req":{"url":"/a"},"ok":true,"more":{"a":1"b":2}}', undefined],
    ['more after it', `${JSON.stringify(json)}x`, undefined],
    ['a space', '{"t": 1,"ip":"a","req":{"url":"/a"},"ok":true,"more":{}}', undefined],
    ['a long line', `{"t":1,"ip":"a","req":{"url":"${'x'.repeat(5000)}"},"ok":true,"more":{}}`, undefined],
  ])('%s', (_, line, values) => {
    expect(read(line, json, picked)).toEqual(values)
  })

  test('has the values that were passed over', () => {
    const passing = (line: string) => read(line, { a: null, b: '-', c: 1 }, ['c'], ['a', 'b', 'c'], ['a', 'b'])
    expect(passing('{"a":null,"b":"-","c":2}')).toEqual([2])
    expect(passing('{"a":"x","b":"-","c":2}')).toBeUndefined()
    expect(passing('{"a":null,"b":"","c":2}')).toBeUndefined()
    expect(read('{"a":1}', { a: 1 }, ['a'], ['a'], ['a'])).toBeUndefined()
  })

  // It was read as a line without the value.
  test('is not learned if the value that is picked has no place in it', () => {
    const passedOver = { a: ['b', 1], c: 2 }
    expect(read(JSON.stringify(passedOver), passedOver, ['a.0', 'c'], ['a', 'a.0', 'c'], ['a'])).toBeUndefined()
    expect(read('{"a":1}', { a: 1 }, ['a', 'none'])).toBeUndefined()
  })

  test.each<[string, Json, readonly string[]]>([
    ['a list is picked', { a: [1] }, []],
    ['true is picked', { a: true }, []],
    ['a list may have a path in it', { a: 1, b: [1] }, ['b.0']],
    ['a name has a dot', { a: 1, 'b.c': 2 }, []],
    ['a value has an escape', { a: '"' }, []],
    ['a name is a number', JSON.parse('{"a":1,"1":2}'), []],
  ])('is not learned if %s', (_, value, known) => {
    const line = Object.hasOwn(value, '1') ? '{"a":1,"1":2}' : JSON.stringify(value)
    expect(shapeOf(line, value, { picked: ['a'], passed: [] }, known)).toBeUndefined()
  })
})

// A space in front of a line keeps it from being read by its shape.
const plain = (line: string): string => ` ${line}`

const text = fc.oneof(
  fc.constantFrom(
    '203.0.113.6',
    '[2001:db8::1]:443',
    '-',
    '',
    '/a?b=c',
    'GET',
    'GET /x HTTP/1.1',
    '2026-01-05T15:00:10.25Z',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const scalar = fc.oneof(text, fc.constantFrom<unknown>(200, 1767625210250, 1767625210.5, -1, 1e-7, true, null))
/** Few lists, so that lines have the same. */
const list = fc.constantFrom<unknown>(['GET', '/login', 1.1], [1767571200, 5, null])
const nested = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(text, scalar, { maxKeys: 2 }))
const NAMES = [
  'StartUTC',
  'time',
  'ts',
  'ip',
  'remote_addr',
  'method',
  'path',
  'url',
  'status',
  'request',
  'req',
  'user',
  'other',
]
const members = fc
  .uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 9 })
  .map((names) => ['time', ...names.filter((name) => name !== 'time')])
const valueFor = (name: string): fc.Arbitrary<unknown> => {
  if (name === 'StartUTC' || name === 'ts') return fc.oneof(fc.integer({ min: 1, max: 2e9 }), nested)
  if (name === 'time') return fc.oneof({ weight: 20, arbitrary: fc.integer({ min: 1, max: 2e9 }) }, nested)
  if (name === 'res') return fc.oneof(fc.record({ statusCode: scalar }), nested)
  if (name !== 'req' && name !== 'request') return fc.oneof({ weight: 5, arbitrary: scalar }, nested)
  return fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record(
        {
          id: scalar,
          method: text,
          url: text,
          uri: scalar,
          remotePort: scalar,
          headers: fc.record({ 'user-agent': text }),
        },
        { requiredKeys: ['url'] },
      ),
    },
    { weight: 5, arbitrary: list },
    nested,
  )
}
const lineOf = (names: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(...names.map(valueFor))
    .map((values) => JSON.stringify(Object.fromEntries(names.map((name, i) => [name, values[i]]))))
/** A line with a character more, less, or changed. */
const damaged = (line: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      line,
      fc.nat(),
      fc.constantFrom('', '"', '\\', ',', '{', ']', '0', '\u0000', ' ', '\ud800', '"a":1,'),
      fc.nat({ max: 2 }),
    )
    .map(([each, at, put, cut]) => `${each.slice(0, at % each.length)}${put}${each.slice((at % each.length) + cut)}`)
const log = fc.array(members, { minLength: 1, maxLength: 3 }).chain((shapes) => {
  const line = fc.constantFrom(...shapes).chain(lineOf)
  return fc.array(fc.oneof({ weight: 4, arbitrary: line }, damaged(line)), { minLength: 2, maxLength: 30 })
})

/** What policies may read of an entry; the problem of an invalid line. */
const partsOf = (entry: ReturnType<ReturnType<typeof jsonParser>>) =>
  typeof entry !== 'object'
    ? entry
    : [
        entry.at,
        entry.address,
        entry.method,
        entry.target,
        entry.status,
        entry.header('user-agent'),
        entry.claim('user'),
        [entry.hasRequest, entry.hasStatus, entry.hasPart, entry.hasReq, entry.isLogged, entry.isLast],
        [entry.id, entry.port],
      ]

/** A path to a value of a line, or to one in a list or an object. */
const pathTo = (...names: string[]) =>
  fc.constantFrom(...names.flatMap((name) => [name, `${name}.0`, `${name}.1`, `${name}.url`]))
const mapped = fc.record(
  {
    time: fc.constantFrom('time', 'ts', 'ts.0', 'request.0'),
    ip: pathTo('ip', 'other', 'request'),
    method: pathTo('method', 'request'),
    path: pathTo('req', 'request', 'other'),
    status: pathTo('status', 'path', 'ts', 'request'),
  },
  { requiredKeys: [] },
)

test('lines are read by their shapes as by JSON.parse', () => {
  fc.assert(
    fc.property(mapped, log, (fields, lines) => {
      const [byShape, byParse] = [jsonParser(fields), jsonParser(fields)]
      for (const line of lines) expect(partsOf(byShape(line))).toEqual(partsOf(byParse(plain(line))))
    }),
    { numRuns: runsOf(150) },
  )
})

// Reproduces a bug: the path that had matched the line before was tried first.
test('a line is read alike whatever lines come before it', () => {
  fc.assert(
    fc.property(mapped, log, (fields, lines) => {
      const parse = jsonParser(fields)
      for (const line of lines) expect(partsOf(parse(line))).toEqual(partsOf(jsonParser(fields)(line)))
    }),
    { numRuns: runsOf(150) },
  )
})
