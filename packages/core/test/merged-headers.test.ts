import { describe, expect, test } from 'vitest'
import { type Header, joinHeaders } from '../src/http/headers/headers.ts'

describe('the headers of a limiter behind another', () => {
  /** What a response has in the end of a field that both have set, or of several. */
  const both = (first: Record<string, unknown>, second: readonly Header[], limited = true) => {
    const response = new Map(Object.entries(first))
    for (const [name, value] of joinHeaders(second, limited, (name) => response.get(name))) response.set(name, value)
    return Object.fromEntries(response)
  }

  test.each([
    ['RateLimit-Policy', '10;w=1', '100;w=60', '10;w=1, 100;w=60'],
    ['RateLimit', '"a";r=1', '"b";r=2', '"a";r=1, "b";r=2'],
    // A dictionary with each name twice says nothing more than its last.
    ['RateLimit', 'limit=1, remaining=0, reset=1', 'limit=2, remaining=1, reset=1', 'limit=1, remaining=0, reset=1'],
    ['RateLimit', 'limit=2, remaining=1, reset=1', 'limit=1, remaining=0, reset=1', 'limit=1, remaining=0, reset=1'],
    ['RateLimit', 'limit=2, remaining=1, reset=1', '"a";r=2', '"a";r=2'],
    ['Retry-After', '1', '2', '2'],
  ])('%s: %s and %s are %s', (name, first, second, expected) => {
    expect(both({}, [[name, second]])).toEqual({ [name]: second })
    expect(both({ [name]: first }, [[name, second]])).toEqual({ [name]: expected })
  })

  const counts = (prefix: string, [limit, remaining, reset]: readonly unknown[]) => ({
    [`${prefix}-Limit`]: limit,
    [`${prefix}-Remaining`]: remaining,
    [`${prefix}-Reset`]: reset,
  })

  // The second replaced the first, which was the one that was nearly used up.
  test.each(['RateLimit', 'X-RateLimit'])('%s-* are those of the scarcer, all three', (prefix) => {
    const headersOf = (values: readonly string[]) => Object.entries(counts(prefix, values)) as unknown as Header[]
    const [few, many] = [
      ['5', '1', '60'],
      ['100', '99', '1'],
    ]
    expect(both(counts(prefix, few as string[]), headersOf(many as string[]))).toEqual(counts(prefix, few as string[]))
    expect(both(counts(prefix, many as string[]), headersOf(few as string[]))).toEqual(counts(prefix, few as string[]))
    // A header that other code has set as a number is compared as one. Of equal values the last is kept.
    expect(both(counts(prefix, [5, 0, 60]), headersOf(['9', '0', '7']))).toEqual(counts(prefix, ['9', '0', '7']))
    expect(both(counts(prefix, [5, 0, 60]), headersOf(['9', '1', '7']))).toEqual(counts(prefix, [5, 0, 60]))
  })

  // Drafts 6 and 7: the reset names the moment of Retry-After.
  test.each([true, false])(
    'a field with room for one policy is that of the denial: of the second limiter: %s',
    (second) => {
      for (const [name, few, many] of [
        ['RateLimit', 'limit=5, remaining=0, reset=60', 'limit=9, remaining=2, reset=20'],
        ['RateLimit-Reset', '60', '20'],
      ] as const) {
        const own: Header[] = second
          ? [
              [name, many],
              ['Retry-After', '20'],
            ]
          : [[name, few]]
        const before = second ? { [name]: few } : { [name]: many, 'Retry-After': '20' }
        expect(both(before, own)).toEqual({ [name]: many, 'Retry-After': '20' })
      }
      const lists = both({ RateLimit: '"a";r=0', 'Retry-After': '20' }, [['RateLimit', '"b";r=2']])
      expect(lists.RateLimit).toBe('"a";r=0, "b";r=2')
    },
  )

  test.each([
    [undefined, 'RateLimit, Retry-After'],
    ['ETag', 'ETag, RateLimit, Retry-After'],
    [['ETag', 'X-Id'], 'ETag,X-Id, RateLimit, Retry-After'],
    ['ratelimit , ETag', 'ratelimit , ETag, Retry-After'],
    ['*', '*, RateLimit, Retry-After'],
    ['RateLimit-Policy', 'RateLimit-Policy, RateLimit, Retry-After'],
  ])('what an app exposes by itself is kept: %j', (before, expected) => {
    const name = 'Access-Control-Expose-Headers'
    for (const limited of [false, true]) {
      expect(both(before === undefined ? {} : { [name]: before }, [[name, 'RateLimit, Retry-After']], limited)).toEqual(
        {
          [name]: expected,
        },
      )
    }
  })

  test('are as they are where none has been before', () => {
    const headers: Header[] = [['RateLimit', '"a";r=1']]
    expect(both({ RateLimit: 'anything' }, headers, false)).toEqual({ RateLimit: '"a";r=1' })
  })
})
