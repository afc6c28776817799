import { fakeClock, modelStore } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { httpGuard, ipKey, type RequestReader } from '../src/http/index.ts'
import { consumeAll, limitStream, perMinute, perMonth, perSecond, QuotaError, rateLimiter } from '../src/index.ts'

// What JavaScript callers pass by mistake: each is an error that says what to write, and changes nothing.

const store = () => modelStore(fakeClock())
const quota = perMinute(5)
const limiter = rateLimiter({ quota, store: store() })
const mistaken = (value: unknown) => value as never
const reader = {} as RequestReader<object>

const broken: readonly [what: string, quota: unknown][] = [
  ['no numbers', { kernel: 'bucket' }],
  ['no window', { kernel: 'sliding-window', limit: 5 }],
  ['no tick', { kernel: 'sliding-window', limit: 5, window: 60e6 }],
  ['no calendar', { kernel: 'sliding-window', limit: 5, window: 60e6, tick: 1, fixed: false }],
  ['a copied calendar', structuredClone({ ...perMonth(5) })],
  ['a limit of text', { ...quota, limit: '5' }],
  ['units without time', { ...quota, ticksPerUnit: 0 }],
  ['NaN', { ...quota, window: Number.NaN }],
  ['numbers of an older version', { kernel: 'bucket', limit: 5, immediateUnits: 5, window: 60e6, overdraft: 0 }],
  ['no schedule', { ...quota, schedule: undefined }],
  ['an inherited name as its kernel', { kernel: 'constructor' }],
]

// A window without a tick never denied.
test.each(broken)('a quota with %s is rejected', async (_, quota) => {
  expect(() => rateLimiter({ quota: mistaken(quota), store: store() })).toThrow('quota must be built by')
  const guard = httpGuard({ quota: () => mistaken(quota), key: () => 'ann', store: store() }, {
    ...reader,
    method: () => 'GET',
    identity: (request) => request,
  } as RequestReader<object>)
  expect(() => guard({})).toThrow('what the quota function of policy "default" returns must be built by perMinute(100)')
})

test('a copy of a quota is one', async () => {
  const copy = rateLimiter({ quota: structuredClone(quota), store: store() })
  expect(await copy.consume('ann', 5)).toMatchObject({ allowed: true, remaining: 0 })
})

test.each([5, 'naïve', '', 'a\nb', {}])('the name %j is rejected when the limiter is built', (name) => {
  const options = { name: mistaken(name), quota: () => quota, store: store() }
  expect(() => httpGuard(options, reader)).toThrow('a policy name goes into headers')
  expect(() => rateLimiter({ name: mistaken(name), quotas: { a: quota }, store: store() })).toThrow(QuotaError)
})

test('a list is no quotas by name', () => {
  expect(() => rateLimiter({ quotas: mistaken([quota]), store: store() })).toThrow('quotas must name')
})

test.each([5n, Symbol('5'), Object.create(null), { valueOf: null }])('a limit of %o is rejected', (limit) => {
  expect(() => perMinute(limit)).toThrow(QuotaError)
})

test('consumeUpTo takes one number of units for all policies', async () => {
  const two = rateLimiter({ quotas: { a: quota, b: quota }, store: store() })
  await expect(two.consumeUpTo('ann', mistaken({ a: 5, b: 2 }))).rejects.toThrow('cost must be a whole number')
  expect(await two.peek('ann')).toMatchObject({ remaining: 5 })
})

const takes: readonly [what: string, takes: unknown][] = [
  ['nothing', undefined],
  ['a limiter', limiter],
  ['a list of limiters', [limiter]],
  ['null', [null]],
  ['text', 'ab'],
  ['a set', new Set()],
]

test.each(takes)('consumeAll of %s names the form', async (_, takes) => {
  await expect(consumeAll(mistaken(takes))).rejects.toThrow('consumeAll takes a list of [limiter, key, cost] triples')
})

test.each([
  [[1], { key: 'ann' }, 'limiter must be built by rateLimiter'],
  [[1], { key: 'ann', limiter: {} }, 'limiter must be built by rateLimiter'],
  [[1], { key: '', limiter }, 'key must be a non-empty string'],
  [undefined, { key: 'ann', limiter }, 'limitStream takes an iterable'],
  [{}, { key: 'ann', limiter }, 'limitStream takes an iterable'],
])('limitStream rejects its arguments, %#', (source, options, message) => {
  expect(() => limitStream(mistaken(source), mistaken(options))).toThrow(message)
})

test.each([5, {}, 'abort', new AbortController()])('wait rejects the signal %o, and takes nothing', async (signal) => {
  const paced = rateLimiter({ quota: perSecond(1), store: store() })
  await expect(paced.wait('ann', { signal: mistaken(signal) })).rejects.toThrow('signal must be an AbortSignal')
  expect(await paced.peek('ann')).toMatchObject({ remaining: 1 })
})

test('ipKey rejects a misspelt option, and what is no text', () => {
  expect(() => ipKey('::1', mistaken({ ipv6prefix: 64 }))).toThrow('Did you mean "ipv6Prefix"?')
  expect(() => ipKey('::1', mistaken(64))).toThrow('ipKey takes an object of options; got 64')
  expect(() => ipKey(mistaken(42))).toThrow('ipKey takes an address')
})
