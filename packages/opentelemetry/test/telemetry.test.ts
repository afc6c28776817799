import { context, type Meter, metrics, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { fakeClock, faultyStore } from '@spillway/conformance'
import { leakyBucket, perMinute, perSecond, rateLimiter, type Store } from '@spillway/core'
import { httpGuard, type RateLimitOptions, type RequestReader } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { type Telemetry, telemetry } from '../src/index.ts'

// Against the real SDK: the test reads what an exporter would receive.

interface Visit {
  readonly ip: string
}

const reader: RequestReader<Visit> = { ...plainReader, address: ({ ip }) => ip, peer: ({ ip }) => ip }

let exporter: InMemoryMetricExporter
let metricReader: PeriodicExportingMetricReader
let spans: InMemorySpanExporter
let measure: Telemetry

function startMetrics(): void {
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  metricReader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 })
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [metricReader] }))
}

beforeEach(() => {
  startMetrics()
  spans = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  measure = telemetry()
})

afterEach(async () => {
  await metricReader.shutdown()
  for (const api of [metrics, trace, context]) api.disable()
})

/** The measurements under a name: each point's attributes, without the prefix, and its sum. */
async function sumsOf(name: string): Promise<readonly (readonly [attributes: string, sum: number])[]> {
  await metricReader.forceFlush()
  const found =
    exporter
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
  const points = found.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []
  return points
    .map(({ attributes, value }) => {
      const shown = Object.entries(attributes).map(([key, value]) => `${key.replace('spillway.', '')}=${value}`)
      return [shown.join(' '), typeof value === 'number' ? value : ((value as { sum?: number }).sum ?? 0)] as const
    })
    .sort()
}

function guardOf(options: Partial<RateLimitOptions<Visit>>, store: Store = memoryStore({ clock: fakeClock() })) {
  const guard = httpGuard<Visit>({ store, onDecision: measure.onDecision, ...options } as never, reader)
  return async (ip = '192.0.2.1') => guard({ ip })
}

test('counts requests, and the decision of each policy', async () => {
  const visit = guardOf({
    policies: [
      { name: 'burst', quota: perSecond(2) },
      { name: 'minute', quota: perMinute(60) },
      { name: 'next', quota: perMinute(1), mode: 'shadow' },
    ],
  })
  for (let i = 0; i < 5; i++) await visit()
  expect(await sumsOf('spillway.requests')).toEqual([
    ['outcome=allowed', 2],
    ['outcome=denied', 3],
  ])
  expect(await sumsOf('spillway.decisions')).toEqual([
    ['policy=burst mode=enforce outcome=allowed', 2],
    ['policy=burst mode=enforce outcome=denied', 3],
    ['policy=minute mode=enforce outcome=allowed', 5],
    ['policy=next (shadow) mode=shadow outcome=allowed', 1],
    ['policy=next (shadow) mode=shadow outcome=denied', 4],
  ])
})

test('records the remaining fraction of a quota, and the wait of clients', async () => {
  const visit = guardOf({ name: 'p', quota: perMinute(4) })
  for (let i = 0; i < 6; i++) await visit()
  expect(await sumsOf('spillway.remaining')).toEqual([['policy=p', 0.75 + 0.5 + 0.25]])
  expect(await sumsOf('spillway.retry_after')).toEqual([['policy=p', 30]])
})

test('does not record an infinite wait', async () => {
  await guardOf({ quota: perMinute(4), cost: 5 })()
  expect(await sumsOf('spillway.retry_after')).toEqual([])
  expect(await sumsOf('spillway.decisions')).toEqual([['policy=default mode=enforce outcome=denied', 1]])
})

test('records the delay of a queued request', async () => {
  const visit = guardOf({ quota: leakyBucket({ limit: 1000, per: '1s', queue: 5 }) })
  await Promise.all([visit('a'), visit('a'), visit('a')])
  expect(await sumsOf('spillway.delay')).toEqual([['policy=default', 0.001 + 0.002]])
})

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

test("sets the decision on the request's span", async () => {
  const visit = guardOf({ name: 'p', quota: perMinute(1) })
  await trace.getTracer('test').startActiveSpan('request', async (span) => {
    await visit()
    await visit()
    span.end()
  })
  const [span] = spans.getFinishedSpans()
  expect(span?.attributes).toEqual({
    'spillway.policy': 'p',
    'spillway.outcome': 'denied',
    'spillway.limit': 1,
    'spillway.remaining': 0,
    'spillway.cost': 1,
  })
  expect(span?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
    ['spillway.denied', { 'spillway.violated': ['p'], 'spillway.retry_after': 60 }],
  ])
})

test('records every decision in the process until it stops', async () => {
  const stop = measure.subscribe()
  const visit = guardOf({ quota: perMinute(4), onDecision: () => {} })
  await visit()
  stop()
  await visit()
  expect(await sumsOf('spillway.requests')).toEqual([['outcome=allowed', 1]])
})

test('measures the keys and evictions of an in-memory store, and returns that store', async () => {
  const store = memoryStore({ maxKeys: 2, clock: fakeClock() })
  expect(measure.store(store, 'memory')).toBe(store)
  const visit = guardOf({ quota: perMinute(4) }, store)
  for (const ip of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) await visit(ip)
  expect(await sumsOf('spillway.store.keys')).toEqual([['store=memory', 2]])
  expect(await sumsOf('spillway.store.evictions')).toEqual([['store=memory', 1]])
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

test('no key is ever recorded, and no attribute ever has more than a few hundred values', async () => {
  for (let i = 0; i < 500; i++) {
    const visit = guardOf({ name: `policy ${i}`, quota: perMinute(1), onDecision: measure.onDecision })
    await visit(`198.51.100.${i % 250}`)
  }
  const decisions = await sumsOf('spillway.decisions')
  expect(decisions).toHaveLength(201)
  expect(decisions.find(([attributes]) => attributes.startsWith('policy=_OTHER'))?.[1]).toBe(300)
  expect(JSON.stringify(exporter.getMetrics())).not.toContain('198.51.100')
})

test('without an SDK it does nothing; an SDK that starts before the first decision records everything', async () => {
  await metricReader.shutdown()
  for (const api of [metrics, trace, context]) api.disable()
  await guardOf({ quota: perMinute(4) })()
  measure = telemetry()
  const store = measure.store(memoryStore({ clock: fakeClock() }), 'early')
  startMetrics()
  await guardOf({ quota: perMinute(4) }, store)()
  expect(await sumsOf('spillway.requests')).toEqual([['outcome=allowed', 1]])
  expect(await sumsOf('spillway.store.keys')).toEqual([['store=early', 1]])
})

describe('a meter or a tracer that throws', () => {
  const broken = (): never => {
    throw new Error('not implemented')
  }
  const throwing = {
    meter: { createCounter: broken, createHistogram: broken } as unknown as Meter,
    tracer: { startSpan: broken } as unknown as Tracer,
  }

  test('is logged once, and every call of the store counts', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const faulty = faultyStore(memoryStore({ clock: fakeClock() }))
    const limiter = rateLimiter({ quota: perMinute(2), store: telemetry(throwing).store(faulty) })
    const decisions = [await limiter.consume('ann'), await limiter.consume('ann'), await limiter.consume('ann')]
    expect(decisions.map(({ allowed, degraded }) => [allowed, degraded])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, undefined],
    ])
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/telemetry threw: .*not implemented.*_listener\]$/)]])
    warn.mockRestore()
  })

  test('does not end the process when it has subscribed', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const uncaught: unknown[] = []
    const listener = (error: unknown): unknown => uncaught.push(error)
    process.on('uncaughtException', listener)
    const stop = telemetry(throwing).subscribe()
    await guardOf({ quota: perMinute(4), onDecision: () => {} })()
    stop()
    // A subscriber's error is thrown in the next tick.
    await new Promise(setImmediate)
    process.off('uncaughtException', listener)
    warn.mockRestore()
    expect(uncaught).toEqual([])
  })
})

test('rejects unknown options', () => {
  expect(() => telemetry({ meters: 1 } as never)).toThrow('telemetry has no option "meters". Did you mean "meter"?')
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
