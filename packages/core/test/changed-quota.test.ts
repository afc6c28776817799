import { quotas as anyQuota, fakeClock, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { httpGuard } from '../src/http/index.ts'
import {
  divideQuota,
  fixedWindow,
  leakyBucket,
  penalty,
  perMinute,
  perMonth,
  type Quota,
  rateLimiter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '../src/index.ts'

const build = (quota: unknown) => rateLimiter({ quota: quota as Quota, store: modelStore(fakeClock()) })

const bucket = perMinute(5)
const refilled = tokenBucket({ limit: 60, per: '1m', refill: '10s', burst: 25 })
const { schedule } = refilled
const started = tokenBucket({ limit: 10, per: '1m', initial: 2 })
const { start } = started
const blocking = penalty({ after: 5, within: '1m', block: '1m', grow: 2, max: '1h' })

/** Quotas of which one number was changed by hand, and the others that follow from it were not. */
const changed: readonly [what: string, quota: unknown][] = [
  // It was a bucket of 5 with a queue of 4: the caller of a denied request waited instead.
  ['a raised limit', { ...bucket, limit: 9 }],
  ['a lowered limit', { ...bucket, limit: 3 }],
  ['a raised limit of units at once', { ...bucket, limit: 9, immediateUnits: 9 }],
  ['a shorter window', { ...bucket, window: 1e6 }],
  ['a faster unit', { ...bucket, ticksPerUnit: 1 }],
  ['parts of a microsecond', { ...bucket, scale: 2 }],
  ['no overdraft', { ...bucket, overdraft: undefined }],
  ['an overdraft of text', { ...bucket, overdraft: '5' }],
  ['an overdraft of a century', { ...bucket, overdraft: 1e12 }],
  ['some units at once', { ...leakyBucket({ limit: 5, per: '1m', queue: 5 }), immediateUnits: 3 }],
  ['a longer queue', { ...leakyBucket({ limit: 5, per: '1m', queue: 5 }), limit: 100 }],
  ['a fixed window of more units', { ...fixedWindow({ limit: 5, window: '1m' }), limit: 9 }],
  ['a fixed window of fewer units', { ...fixedWindow({ limit: 9, window: '1m' }), limit: 5 }],
  ['a schedule of no amount', { ...refilled, schedule: { ...schedule, amount: 0 } }],
  ['a schedule of a larger amount', { ...refilled, schedule: { ...schedule, amount: 11 } }],
  ['a schedule of text', { ...refilled, schedule: 'continuous' }],
  ['a schedule before time', { ...refilled, schedule: { ...schedule, offset: -1 } }],
  ['a start with more than all units', { ...started, start: { ...start, lacking: 1e12 } }],
  ['a start with NaN units', { ...started, start: { ...start, lacking: Number.NaN } }],
  ['a start that is kept for no time', { ...started, start: { ...start, keep: 0 } }],
  ['a tick that does not divide the window', { ...slidingWindow({ limit: 5, window: '1m' }), tick: 7 }],
  ['a window of too many units', { ...slidingWindow({ limit: 5, window: '1m' }), limit: 2 ** 50 }],
  ['a window that is fixed or not', { ...slidingWindow({ limit: 5, window: '1m' }), fixed: 1 }],
  ['a calendar that slides', { ...perMonth(5), fixed: false }],
  ['a log of a million entries', { ...slidingLog({ limit: 5, window: '1m' }), limit: 1e6 }],
  ['a warm-up of two units', { ...warmingUp({ limit: 5, per: '1s', warmUpPeriod: '1m' }), limit: 2 }],
  ['a warm-up of a century', { ...warmingUp({ limit: 5, per: '1s', warmUpPeriod: '1m' }), half: 1e15 }],
  ['a faster warm-up', { ...warmingUp({ limit: 5, per: '1s', warmUpPeriod: '1m' }), ticksPerUnit: 1 }],
  ['a block of NaN', { ...blocking, forgive: Number.NaN }],
  ['a block longer than the longest', { ...blocking, max: 1 }],
  ['a block that never starts', { ...blocking, limit: 1e12 }],
]

test.each(changed)('a quota with %s, changed by hand, is rejected', (_, quota) => {
  expect(() => build(quota)).toThrow(/^quota must be built by .* a quota that was changed after it was built: .* Build/)
  const tiers = httpGuard({ quota: () => quota as Quota, key: () => 'ann', store: modelStore(fakeClock()) }, {
    method: () => 'GET',
    identity: (request: object) => request,
  } as never)
  expect(() => tiers({})).toThrow('do not agree. Build another one instead.')
})

test('a window or log whose limit alone was changed is another quota', async () => {
  for (const quota of [slidingWindow({ limit: 5, window: '1m' }), slidingLog({ limit: 5, window: '1m' })]) {
    const limiter = build({ ...quota, limit: 2 })
    expect(await limiter.consume('ann', 2)).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false })
  }
})

test('every quota, each copy, and each share of it is accepted', () => {
  fc.assert(
    fc.property(anyQuota, fc.integer({ min: 1, max: 50 }), (quota, replicas) => {
      for (const each of [quota, { ...quota }, divideQuota(quota, { replicas })]) build(each)
    }),
    { numRuns: 1_000 },
  )
})
