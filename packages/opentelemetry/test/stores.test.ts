import { metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import { fakeClock, faultyStore } from '@spillway/conformance'
import { perMinute, rateLimiter, type Store, StoreError, type SyncStore } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { describe, expect, test } from 'vitest'
import { telemetry } from '../src/index.ts'
import { guardOf, measure, metricReader, spans, startMetrics, startTelemetry, sumsOf } from './meter.ts'

test('times a remote store, and counts requests decided without it', async () => {
  const faulty = faultyStore(memoryStore({ clock: fakeClock() }))
  const visit = guardOf({ name: 'p', quota: perMinute(4), onStoreError: 'deny' }, measure.store(faulty, 'redis'))
  await visit()
  faulty.break('failing')
  expect((await visit()).denial?.status).toBe(503)
  const durations = await sumsOf('spillway.store.operation.duration')
  expect(durations.map(([attributes]) => attributes)).toEqual([
    'store=redis operation=take error.type=Error',
    'store=redis operation=take',
  ])
  expect(await sumsOf('spillway.degraded')).toEqual([['degraded.reason=error degraded.action=deny', 1]])
  expect(await sumsOf('spillway.decisions')).toEqual([['policy=p mode=enforce outcome=allowed', 1]])
  expect(await sumsOf('spillway.requests')).toEqual([
    ['outcome=allowed', 1],
    ['outcome=denied', 1],
  ])
})

// All failures of Redis and PostgreSQL were of the type ERR_SPILLWAY_STORE.
test('reports the failures of a store by their causes', async () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const errors = [
    new StoreError('Redis failed: connect ECONNREFUSED', refused),
    new StoreError('PostgreSQL did not answer', refused, { reason: 'timeout' }),
    new StoreError('The store did not list its states'),
  ]
  for (const error of errors) {
    const store = measure.store<Store>({ take: () => Promise.reject(error), delete: async () => 0 })
    await expect(store.take([])).rejects.toBe(error)
  }
  expect((await sumsOf('spillway.store.operation.duration')).map(([attributes]) => attributes)).toEqual([
    'store=default operation=take error.type=ECONNREFUSED',
    'store=default operation=take error.type=ERR_SPILLWAY_STORE',
    'store=default operation=take error.type=timeout',
  ])
})

test('puts a span around each call of a remote store, as a child of the active one', async () => {
  const faulty = faultyStore(memoryStore({ clock: fakeClock() }))
  const limiter = rateLimiter({ name: 'p', quota: perMinute(4), store: measure.store(faulty) })
  await trace.getTracer('test').startActiveSpan('request', async (span) => {
    await limiter.consume('somebody')
    await limiter.reset('somebody')
    faulty.break('failing')
    await limiter.consume('somebody').catch(() => {})
    span.end()
  })
  const [take, remove, failed, request] = spans.getFinishedSpans()
  expect([take?.name, remove?.name, failed?.name]).toEqual(['spillway.take', 'spillway.delete', 'spillway.take'])
  expect(take?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
  expect(take?.attributes).toEqual({
    'spillway.store': 'default',
    'spillway.operation': 'take',
    'spillway.policies': ['p'],
  })
  expect([failed?.status.code, failed?.attributes['error.type'], failed?.events[0]?.name]).toEqual([
    SpanStatusCode.ERROR,
    'Error',
    'exception',
  ])
})

test('measures the keys and evictions of an in-memory store, and returns that store', async () => {
  const store = memoryStore({ maxKeys: 2, clock: fakeClock() })
  expect(measure.store(store, 'memory')).toBe(store)
  const visit = guardOf({ quota: perMinute(4) }, store)
  for (const ip of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) await visit(ip)
  expect(await sumsOf('spillway.store.keys')).toEqual([['store=memory', 2]])
  expect(await sumsOf('spillway.store.evictions')).toEqual([['store=memory', 1]])
})

// The numbers were those of the last one.
test('adds up in-memory stores of one name, each once', async () => {
  for (const keys of [12, 5]) {
    const store = memoryStore({ maxKeys: 2, clock: fakeClock() })
    for (let i = 0; i < 2; i++) measure.store(store)
    const limiter = rateLimiter({ quota: perMinute(4), store })
    for (let i = 0; i < keys; i++) await limiter.consume(`key ${i}`)
  }
  for (let i = 0; i < 2; i++) {
    expect(await sumsOf('spillway.store.keys')).toEqual([['store=default', 2 + 2]])
    expect(await sumsOf('spillway.store.evictions')).toEqual([['store=default', 10 + 3]])
  }
})

// They were reported only after a decision of middleware.
describe('an in-memory store whose limiter is called by hand', () => {
  const consumeBy = async (store: SyncStore): Promise<void> => {
    const limiter = rateLimiter({ name: 'p', quota: perMinute(4), store })
    for (const key of ['ann', 'bob', 'eve']) await limiter.consume(key)
  }
  const small = () => memoryStore({ maxKeys: 2, clock: fakeClock() })
  const expectSize = async (): Promise<void> => {
    expect(await sumsOf('spillway.store.keys')).toEqual([['store=memory', 2]])
    expect(await sumsOf('spillway.store.evictions')).toEqual([['store=memory', 1]])
  }

  test('is measured if the SDK has started', async () => {
    await consumeBy(measure.store(small(), 'memory'))
    await expectSize()
  })

  test('is measured by a meter that was passed', async () => {
    const meter = metrics.getMeter('own')
    metrics.disable()
    await consumeBy(telemetry({ meter }).store(small(), 'memory'))
    await expectSize()
  })

  test('is measured from subscribe on if the SDK starts later', async () => {
    await metricReader.shutdown()
    metrics.disable()
    startTelemetry()
    await consumeBy(measure.store(small(), 'memory'))
    startMetrics()
    const stop = measure.subscribe()
    await expectSize()
    stop()
  })
})

test.each([[5], [''], [null], [{ name: 'redis' }]])('rejects %j as the name of a store', (name) => {
  expect(() => measure.store(memoryStore(), name as never)).toThrow(/^the name of a store must be text; got /)
})

test('a measured store forwards everything else', async () => {
  class Other implements Store {
    readonly #inner = memoryStore()
    readonly name = 'other'
    take: Store['take'] = (ops, at) => this.#inner.take(ops, at)
    delete: Store['delete'] = (keys) => this.#inner.delete(keys)
    slotOf(key: { readonly key: string }): string {
      return `${this.#inner.size}${key.key}`
    }
  }
  const measured = measure.store(new Other())
  expect([measured.name, measured.slotOf({ key: 'a' }), 'takeSync' in measured]).toEqual(['other', '0a', false])
})

test('a measured store gets the deadline of each call', async () => {
  const deadlines: unknown[] = []
  const store: Store = {
    take: async (_ops, _at, deadline) => {
      deadlines.push(deadline)
      throw new Error('down')
    },
    delete: async (_keys, deadline) => {
      deadlines.push(deadline)
      return 0
    },
  }
  const limiter = rateLimiter({ quota: perMinute(4), store: telemetry().store(store), logger: { warn: () => {} } })
  await limiter.consume('ann')
  await limiter.reset('ann')
  expect(deadlines).toEqual(Array(2).fill(expect.objectContaining({ atMs: expect.any(Number) })))
})
