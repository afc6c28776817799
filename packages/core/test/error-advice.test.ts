import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TokenBucketOptions } from '../src/algorithms/quota-options.ts'
import { QuotaError } from '../src/common/errors.ts'
import { type Duration, micros } from '../src/common/time.ts'
import { fixedWindow, leakyBucket, tokenBucket } from '../src/index.ts'

// Reproduces a bug: "Use a limit of 29411 or 30303" was rejected, too, when it was used.

const periods = fc.oneof(
  fc.constantFrom<Duration[]>('1s', '1m', '1h', '1d', '365d'),
  fc.integer({ min: 1, max: 31_536_000_000 }),
)
const wrong = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e20, max: 1e20 }),
  fc.integer({ min: -5, max: 2_000_000_000 }),
  fc.integer({ min: 1, max: 4_000_000 }).map((n) => n / 7),
)

function caught(build: () => unknown): QuotaError {
  try {
    build()
  } catch (error) {
    if (error instanceof QuotaError) return error
  }
  throw new Error('accepted')
}

/** Builds a quota of `value`, and if that is rejected, of the value that the error names. */
function isAcceptedAsNamed(build: (value: number) => unknown, value: number, named: RegExp): void {
  let error: unknown
  try {
    build(value)
    return
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(QuotaError)
  const [, proposed] = named.exec((error as QuotaError).message) ?? []
  expect(proposed, (error as QuotaError).message).toBeDefined()
  build(Number(proposed))
}

test('a limit that is rejected names one that is accepted', () =>
  fc.assert(
    fc.property(wrong, periods, (limit, per) =>
      isAcceptedAsNamed(
        (limit) => tokenBucket({ limit, per, burst: 1 }),
        limit,
        /(?:Use|limit:)(?: a limit of)? (\d+)[.,]/,
      ),
    ),
  ))

// "Write 1 per '2s'" was the advice for perMinute(0.5): sixty times too much.
test('a fraction of a unit is proposed as the same rate in whole units', () => {
  const decimals = fc.integer({ min: 1, max: 99_999 }).map((hundredths) => hundredths / 100)
  const spans = fc.oneof(
    fc.constantFrom<Duration[]>('1s', '1m', '0.1s', '1.5h', '30d'),
    fc.integer({ min: 1, max: 1e9 }),
  )
  fc.assert(
    fc.property(decimals, spans, (limit, per) => {
      fc.pre(!Number.isInteger(limit))
      const error = caught(() => tokenBucket({ limit, per }))
      const proposal = /tokenBucket\(\{ limit: (\d+), per: '?([\w.]+)'?(?:, burst: (\d+))? \}\)/.exec(error.message)
      const [, units, span = '', burst] = proposal ?? []
      const proposed = /^\d+$/.test(span) ? Number(span) : (span as Duration)
      tokenBucket({ limit: Number(units), per: proposed, burst: Number(burst ?? units) })
      const hundredths = BigInt(Math.round(limit * 100))
      expect(hundredths * BigInt(micros(proposed, 'per'))).toBe(100n * BigInt(units ?? 0) * BigInt(micros(per, 'per')))
    }),
  )
})

test('a limit that does not refill whole units names one that does', () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000_000 }), periods, periods, (limit, per, refill) =>
      isAcceptedAsNamed(
        (limit) => tokenBucket({ limit, per, refill, burst: 1 }),
        limit,
        /Use a limit of (\d+)(?: at most)?,/,
      ),
    ),
  ))

test('a window of too many units names a limit that fits', () =>
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.integer({ min: 1, max: 999 }), (limit, window) =>
      isAcceptedAsNamed((limit) => fixedWindow({ limit, window }), Math.abs(limit), /Use a limit of (\d+)\./),
    ),
  ))

test('a burst or a queue that takes too long to fill names one that does not', () => {
  const rates = fc.record({ limit: fc.integer({ min: 1, max: 9 }), per: fc.constantFrom<Duration[]>('1d', '365d') })
  const sizes = fc.integer({ min: 1, max: 10_000_000 })
  const refills = fc.constantFrom<Pick<TokenBucketOptions, 'refill'>[]>({}, { refill: '365d' })
  fc.assert(
    fc.property(rates, sizes, refills, fc.constantFrom(0, 3), (rate, size, refill, overdraft) => {
      isAcceptedAsNamed(
        (burst) => tokenBucket({ ...rate, burst, overdraft, ...refill }),
        size,
        /Use a burst of (\d+) or/,
      )
      isAcceptedAsNamed((queue) => leakyBucket({ ...rate, queue }), size, /Use a queue of (\d+) or/)
    }),
  )
})
