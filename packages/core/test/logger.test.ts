import { fakeClock, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unhandledRejections } from '../../../test/unhandled.ts'
import { loggerOf } from '../src/common/warn.ts'
import { httpGuard, type RateLimitOptions, type RequestReader, TRUSTS_EVERY_PROXY } from '../src/http/index.ts'
import { perMinute, rateLimiter, type Store } from '../src/index.ts'

const unhandled = unhandledRejections()

// `logger` covered failures of a store; all other warnings of a limiter went to the console.

interface FakeRequest {
  readonly forwarded?: string
  readonly address?: string | undefined
}

const reader: RequestReader<FakeRequest> = {
  address: (request) => ('address' in request ? request.address : '203.0.113.7'),
  peer: () => '203.0.113.7',
  method: () => 'GET',
  path: () => '/',
  header: ({ forwarded }, name) => (name === 'x-forwarded-for' ? forwarded : undefined),
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: () => () => {},
}

let warn: ReturnType<typeof vi.spyOn>
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => {
  expect(warn).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})

const failing = (): Store => ({ take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) })
const throwing = (): never => {
  throw new Error('a mistake')
}

const warnings: readonly [
  problem: string,
  options: Partial<RateLimitOptions<FakeRequest>>,
  request: FakeRequest,
  adapter?: Partial<RequestReader<FakeRequest>>,
][] = [
  ['a request has X-Forwarded-For', {}, { forwarded: '203.0.113.8' }],
  ['a request has no client address', {}, { address: undefined }],
  ['the app trusts every proxy', {}, {}, { proxyWarning: () => TRUSTS_EVERY_PROXY }],
  ['a key function returns a full IPv6 address', { key: () => '2001:db8::7' }, {}],
  ['a key function returns an address with a port', { key: () => '203.0.113.7:51234' }, {}],
  ['a key function returns an address with a port', { key: () => '[2001:db8::7]:51234' }, {}],
  ['partition must return bytes', { partition: () => 'ann' as never }, {}],
  ['a request is always denied: ', { quota: perMinute(5), cost: 6 }, {}],
  ['onDecision threw: a mistake', { onDecision: throwing }, {}],
  ['the cost of a request could not be corrected: a mistake', { settle: throwing }, {}],
  [
    'a shadow policy failed; requests are not affected: The store failed: down.',
    { mode: 'shadow', store: failing(), onStoreError: 'throw' },
    {},
  ],
  ['the store failed (limiter "default"): The store failed: down.', { store: failing() }, {}],
]

test.each(warnings)('"%s" goes to the logger, and not to the console', async (problem, options, request, adapter) => {
  const logged: string[] = []
  const logger = { warn: (message: string) => void logged.push(message) }
  const all = { quota: perMinute(5), store: modelStore(fakeClock()), logger, ...options }
  const verdict = await httpGuard(all as RateLimitOptions<FakeRequest>, { ...reader, ...adapter })(request)
  await verdict.after?.(200, {})
  await vi.waitFor(() => expect(logged).toContainEqual(expect.stringContaining(`spillway: ${problem}`)))
})

// Node forgets the address of a client that has left: one such request advised every app to trust a proxy.
test('a request without an address is not reported if its client has left', async () => {
  const logger = { warn: vi.fn() }
  const onClientClosed = (_: FakeRequest, listener: () => void) => {
    listener()
    return () => {}
  }
  const options = { quota: perMinute(5), store: modelStore(fakeClock()), logger }
  await httpGuard(options as RateLimitOptions<FakeRequest>, { ...reader, onClientClosed })({ address: undefined })
  expect(logger.warn).not.toHaveBeenCalled()
})

test('a request that comes by twice is reported to the logger', () => {
  const logged: string[] = []
  const guard = httpGuard(
    { quota: perMinute(5), store: modelStore(fakeClock()), logger: { warn: (message) => void logged.push(message) } },
    reader,
  )
  const request = {}
  for (let i = 0; i < 3; i++) void guard(request)
  expect(logged).toEqual([expect.stringContaining('the same rateLimit(…) ran twice')])
})

test('each logger is given a warning once', () => {
  const logged: string[] = []
  const named = (name: string) => ({ warn: () => void logged.push(name) })
  for (const logger of [named('a'), named('b')]) {
    const guard = httpGuard({ quota: perMinute(5), store: modelStore(fakeClock()), logger }, reader)
    for (let i = 0; i < 3; i++) void guard({ forwarded: '203.0.113.8' })
  }
  expect(logged).toEqual(['a', 'b'])
})

test('a logger that throws does not fail the request', async () => {
  const guard = httpGuard({ quota: perMinute(1), store: failing(), logger: { warn: throwing } }, reader)
  expect(await Promise.all([guard({ forwarded: '203.0.113.8' }), guard({})])).toMatchObject([
    { denial: undefined },
    { denial: { status: 429 } },
  ])
})

test('a store warns through the logger of its limiters, and through the console while they have none', () => {
  const logger = { warn: () => {} }
  const [store, own] = [modelStore(fakeClock()), modelStore(fakeClock())]
  httpGuard({ quota: perMinute(5), store }, reader)
  expect(loggerOf(store)).toBe(console)
  httpGuard({ policies: [{ quota: perMinute(5), store: own }], store, logger }, reader)
  httpGuard({ quota: perMinute(5), store }, reader)
  expect([loggerOf(store), loggerOf(own)]).toEqual([logger, logger])
})

test('a logger that rejects does not end the process', async () => {
  const limiter = rateLimiter({ quota: perMinute(2), store: failing(), logger: { warn: async () => throwing() } })
  expect((await limiter.consume('ann')).allowed).toBe(true)
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
})
