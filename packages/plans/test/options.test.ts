import { describe, expect, test } from 'vitest'
import { type CachedOptions, cached } from '../src/index.ts'
import { setUp } from './lookups.ts'

describe('an option', () => {
  const plan = (options: object) => () => cached(() => 'pro', options as CachedOptions<string>)
  test.each([
    [{ maxSize: 10 }, 'no option "maxSize"'],
    [{ max: 0 }, 'max must be a whole number of keys, 1 to 10000000; got 0.'],
    [{ max: 1e9 }, 'max must be a whole number of keys, 1 to 10000000; got 1000000000.'],
    [{ maxUnknown: '10' }, 'maxUnknown must be a whole number of keys, 1 to 10000000; got "10".'],
    [{ ttl: 'soon' }, 'ttl must be a positive duration'],
    [{ ttl: 0 }, 'ttl must be a positive duration'],
    [{ staleFor: -1 }, 'staleFor must be a positive duration'],
    [{ timeout: '5x' }, 'timeout must be a positive duration'],
    [{ onError: 'default' }, `onError must be 'stale' or 'throw'; got "default".`],
    [{ clock: 5 }, 'clock must be a function'],
    [{ logger: {} }, 'logger must have a method warn'],
  ])('%o is an error', (options, message) => expect(plan(options)).toThrow(message))

  test('may be a bound of one key', () => {
    expect(plan({ max: 1, maxUnknown: 1 })).not.toThrow()
  })

  test('that is no lookup is one, too', () =>
    expect(() => cached({ free: 1 } as never)).toThrow(
      'cached takes a function that looks up a key: cached((apiKey) => db.planOf(apiKey)); got an object.',
    ))
})

test.each([
  ['a promise', Promise.resolve('ann')],
  ['an object', { id: 'ann' }],
  ['a list', ['ann']],
  ['a number', 7],
])('%s is no key: all of them would get the value of the first', (_, key) => {
  const { db, plan } = setUp()
  expect(() => plan(key as never)).toThrow('cached: key must be a string')
  expect(() => plan.delete(key as never)).toThrow('cached: key must be a string')
  expect(db.lookups).toEqual([])
})

// Nothing was cached: each request was a lookup.
test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, '5', new Date(0)])(
  'a clock that returns %o fails the request',
  (now) => {
    const { db, plan } = setUp({ clock: () => now as never })
    expect(() => plan('ann')).toThrow('clock must return milliseconds, such as () => performance.now(); it returned')
    expect(db.lookups).toEqual([])
  },
)
