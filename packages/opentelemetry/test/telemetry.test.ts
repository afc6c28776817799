import { context, type Meter, metrics, type Tracer, trace } from '@opentelemetry/api'
import { fakeClock, faultyStore } from '@spillway/conformance'
import { perMinute, rateLimiter } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { describe, expect, test, vi } from 'vitest'
import { telemetry } from '../src/index.ts'
import { guardOf, measure, metricReader, startMetrics, startTelemetry, sumsOf } from './meter.ts'

test('without an SDK it does nothing; an SDK that starts before the first decision records everything', async () => {
  await metricReader.shutdown()
  for (const api of [metrics, trace, context]) api.disable()
  await guardOf({ quota: perMinute(4) })()
  startTelemetry()
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

  test('does not fail the call that measures an in-memory store', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const store = memoryStore()
    const meter = { ...throwing.meter, createObservableGauge: broken } as unknown as Meter
    expect(telemetry({ ...throwing, meter }).store(store)).toBe(store)
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
