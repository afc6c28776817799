import fc from 'fast-check'
import { parseRateLimit } from 'ratelimit-header-parser'
import { type BareItem, parseDictionary, parseList } from 'structured-headers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type HeaderForm, headerWriter } from '../src/features/header-forms/forms.ts'
import { partitionReader } from '../src/features/partitions/partition.ts'
import { advertised, headerItem } from '../src/http/headers/header-item.ts'
import type { Decision, Quota } from '../src/index.ts'
import { decisionOf } from './decisions.ts'

const NOW = Date.UTC(2026, 0, 1)
const MOST = 999_999_999_999_999

/** Spans of time to the microsecond. */
const millis = (most: number) => fc.integer({ min: 0, max: most * 1000 }).map((micros) => micros / 1000)

/** Whatever numbers a decision and its quota can have. */
const anyResult = (most: number, longestMs: number) =>
  fc
    .record({
      name: fc.string({
        unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
        maxLength: 100,
      }),
      limit: fc.integer({ min: 1, max: most }),
      window: fc.integer({ min: 1, max: 3e15 }),
      remaining: fc.integer({ min: 0, max: most }),
      allowed: fc.boolean(),
      resetAfterMs: millis(longestMs),
      replenishAfterMs: millis(longestMs),
      retryAfterMs: fc.oneof(millis(longestMs), fc.constant(Infinity)),
      pk: fc.option(fc.uint8Array({ maxLength: 12 }), { nil: undefined }),
    })
    .map(({ name, limit, window, pk, ...parts }) => {
      const quota = { kernel: 'sliding-log', limit, window } as Quota
      const { limit: q, window: w } = advertised(quota)
      return {
        decision: decisionOf({ policy: name, limit, ...parts }),
        item: headerItem({ name, quota }),
        pk: pk ? (partitionReader(() => pk, console)('ann') as string) : '',
        expected: { name, q, w, pk },
      }
    })

type Result = ReturnType<typeof anyResult> extends fc.Arbitrary<infer T> ? T : never

const written = (form: HeaderForm, results: readonly Result[]): Headers =>
  new Headers(headerWriter([form])(results, () => NOW).map(([name, value]): [string, string] => [name, value]))

/** The items of a list, with the bytes of byte sequences as numbers. */
const itemsOf = (text: string | null) =>
  parseList(text ?? '').map(([value, parameters]) => [
    value,
    Object.fromEntries([...(parameters as Map<string, BareItem>)].map(([name, each]) => [name, plain(each)])),
  ])

const plain = (value: BareItem): unknown => (value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value)

const waitOf = ({ allowed, retryAfterMs, replenishAfterMs }: Decision): number =>
  Math.ceil((allowed ? replenishAfterMs : retryAfterMs) / 1000)

describe('a structured-field reader agrees', () => {
  const several = fc.array(anyResult(Number.MAX_SAFE_INTEGER, 1e12), { minLength: 1, maxLength: 3 })

  // Row 19 of the peers' bugs: a name with a quote in it makes a field that no parser reads.
  test('with drafts 8 to 11, whatever the names and numbers', () => {
    fc.assert(
      fc.property(several, (results) => {
        const headers = written('draft-11', results)
        const partition = (pk?: Uint8Array) => pk && { pk: [...pk] }
        expect(itemsOf(headers.get('ratelimit-policy'))).toEqual(
          results.map(({ expected: { name, q, w, pk } }) => [name, { q, w, ...partition(pk) }]),
        )
        expect(itemsOf(headers.get('ratelimit'))).toEqual(
          results.map(({ decision, expected: { name, pk } }) => {
            const t = waitOf(decision)
            const r = Math.min(decision.remaining, MOST)
            return [name, { r, ...(t > 0 && t < Infinity && { t }), ...partition(pk) }]
          }),
        )
      }),
      { numRuns: 1000 },
    )
  })

  test('with draft 7', () => {
    fc.assert(
      fc.property(several, (results) => {
        const headers = written('draft-7', results)
        const least = Math.min(...results.map(({ decision }) => decision.remaining))
        const { decision, expected } = results.find((each) => each.decision.remaining === least) as Result
        expect(parseDictionary(headers.get('ratelimit') ?? '')).toEqual(
          new Map(
            Object.entries({
              limit: [expected.q, new Map()],
              remaining: [Math.min(least, MOST), new Map()],
              reset: [Math.ceil(decision.resetAfterMs / 1000), new Map()],
            }),
          ),
        )
        const quotas = new Map(results.toReversed().map(({ expected: { q, w } }) => [q, { w }]))
        expect(new Map(itemsOf(headers.get('ratelimit-policy')) as [number, object][])).toEqual(quotas)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('ratelimit-header-parser agrees', () => {
  // It turns seconds into dates by the clock.
  beforeEach(() => {
    vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([
    ['draft-6', 'seconds'],
    ['draft-7', 'seconds'],
    ['legacy-delta', 'seconds'],
    ['legacy-epoch', 'unix'],
  ] as const)('with %s', (form, reset) => {
    fc.assert(
      fc.property(anyResult(MOST, 20 * 86_400_000), (results) => {
        const { remaining, resetAfterMs } = results.decision
        const limit = results.expected.q
        expect(parseRateLimit(written(form, [results]), { reset })).toEqual({
          limit,
          remaining,
          used: limit - remaining,
          reset: new Date(NOW + Math.ceil(resetAfterMs / 1000) * 1000),
        })
      }),
    )
  })
})
