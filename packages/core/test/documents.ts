// cspell:ignore psot
import fc from 'fast-check'

/** A rule that is right, with the given parts changed. */
export const rule = (parts: object = {}): object => ({
  name: 'a',
  limit_keys: ['ip:address'],
  algorithm: 'token_bucket',
  algorithm_config: { rps: 5, burst: 10 },
  ...parts,
})

/** A value that is right, or now and then one that is not. */
const mostly = <T>(right: fc.Arbitrary<T>, ...wrong: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 40, arbitrary: right }, { weight: 1, arbitrary: fc.constantFrom(...wrong) })

const whole = mostly(fc.integer({ min: 1, max: 1000 }), 0, -1, 2.5, '1', 2 ** 53, 1e300)
const units = fc.constantFrom('ms', 's', 'm', 'h', 'd')
const duration = mostly(
  fc.tuple(fc.constantFrom('1', '1.5', '60', '0', '0.00001', '99999999'), units).map((parts) => parts.join('')),
  ...['10', 's', '1 s', '-1s', 10, null],
)
const rate = mostly(
  fc.oneof(
    fc.constantFrom(0.5, 1, 10, 1.25, 1e-7, 1 / 3, 1e-300, 1e300),
    fc.double({ min: 0, minExcluded: true, noNaN: true }),
  ),
  ...[0, -1, '1'],
)

const cost = {
  cost_source: mostly(
    fc.constantFrom('fixed', 'header:x-weight', 'query:cost', 'header:Content-Length'),
    'header:',
    'body:x',
    'header:a b',
    'query:\n',
    'query: x',
  ),
  fixed_cost: whole,
  default_cost: whole,
  max_cost: whole,
}

type Fields = Record<string, fc.Arbitrary<unknown>>

const configured = (algorithm: string, required: Fields, optional: Fields = {}): fc.Arbitrary<object> =>
  fc.record({
    algorithm: fc.constant(algorithm),
    algorithm_config: fc.record<Record<string, unknown>>(
      { ...required, ...optional, ...cost },
      { requiredKeys: Object.keys(required) },
    ),
  })

const algorithms = [
  configured('token_bucket', { tokens_per_second: rate, burst: whole }, { refill: duration }),
  configured('token_bucket', { rps: rate }, { burst: whole, overdraft: whole }),
  configured('token_bucket', { limit: whole, per: duration }, { burst: whole }),
  configured('leaky_bucket', { limit: whole, per: duration, queue: whole }),
  configured('fixed_window', { limit: whole, window: duration }, { offset: duration }),
  configured(
    'calendar_window',
    { limit: whole, unit: mostly(fc.constantFrom('month', 'week', 'day'), 'year') },
    {
      time_zone: mostly(fc.constantFrom('UTC', 'Europe/Berlin'), 'Mars/Phobos', ''),
      first_day: fc.integer({ min: 0, max: 8 }),
    },
  ),
  configured('sliding_window', { limit: whole, window: duration }),
  configured('sliding_log', { limit: whole, window: duration }),
  configured('warming_up', { limit: whole, per: duration, warm_up_period: duration }, { burst: whole }),
  configured('in_flight', { limit: whole }, { ttl: duration }),
  configured('penalty', { after: whole, within: duration, block: duration }, { extend: fc.boolean() }),
]

const names = ['x-api-key', 'X-Plan', 'a', '__proto__']
const keys = ['ip:address', 'ip', 'method', 'path', 'jwt:org', 'claim:https://a.b/c', 'query:key']
const key = mostly(
  fc.constantFrom(...keys, ...names.map((name) => `header:${name}`), ...names.map((name) => `cookie:${name}`)),
  ...['ip:country', 'header:', 'header:a b', 'cookie:a;b', 'claim: a', 'query:b ', 5],
)

const matchEntry = fc.oneof(
  fc.tuple(fc.constant('method'), mostly(fc.constantFrom('GET', ['GET', 'M-SEARCH']), 'get', 'PSOT', [], [1], 1)),
  fc.tuple(fc.constant('path'), mostly(fc.constantFrom('/a', ['/a', '/b/*']), 'a', '', '/a*', [null])),
  fc.tuple(fc.constantFrom(...names.map((name) => `header:${name}`)), mostly(fc.constantFrom('x', true), false, 1)),
  fc.tuple(fc.constantFrom('jwt:plan', 'claim:plan'), mostly(fc.constantFrom('x', 1, true), null, ['x'])),
  fc.tuple(mostly(fc.constant('claim:a'), 'claim:', 'header:a b', 'ip', '__proto__').map(String), fc.constant('x')),
)

// Entries, so that `__proto__` becomes a property, as JSON.parse makes it.
const match = mostly(
  fc.array(matchEntry, { minLength: 1, maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
  {},
)

const anyRule = fc
  .tuple(
    fc.record(
      {
        name: mostly(
          fc.string({ minLength: 1, maxLength: 2, unit: fc.constantFrom('a', 'b', ' ', '~') }),
          '',
          'é',
          'n'.repeat(101),
          5,
        ),
        limit_keys: mostly(fc.array(key, { minLength: 1, maxLength: 3 }), [], 'ip'),
        match,
        mode: mostly(fc.constantFrom('enforce', 'shadow'), 'dry'),
        blocks: mostly(fc.boolean(), 'yes'),
      },
      { requiredKeys: ['name', 'limit_keys'] },
    ),
    fc.oneof(...algorithms),
  )
  .map(([head, algorithm]) => ({ ...head, ...algorithm }))

const rules = fc.array(anyRule, { minLength: 1, maxLength: 3 })

/** Documents of rules, most of them nearly right. */
export const anyDocument: fc.Arbitrary<unknown> = fc.oneof(
  rules,
  rules.map((rules) => ({ $schema: 'https://example.com/rules.json', rules })),
)

/** A document with one part, anywhere in it, taken away or replaced. */
export const spoiltDocument: fc.Arbitrary<unknown> = fc
  .tuple(
    anyDocument,
    fc.nat(),
    fc.oneof(fc.jsonValue(), fc.constant(undefined)),
    fc.constantFrom('name', 'x', '__proto__'),
  )
  .map(([document, at, value, extra]) => {
    const copy = structuredClone(document)
    const places = placesIn(copy)
    const place = places[at % places.length]
    if (place === undefined) return value
    const [parent, name] = place
    const target = at % 3 === 0 && !Array.isArray(parent) ? extra : name
    if (value === undefined) delete parent[name]
    else Object.defineProperty(parent, target, { value, enumerable: true, configurable: true, writable: true })
    return JSON.parse(JSON.stringify(copy))
  })

type Parent = Record<string, unknown>

function placesIn(value: unknown): (readonly [Parent, string])[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.keys(value).flatMap((name) => [[value as Parent, name] as const, ...placesIn((value as Parent)[name])])
}
