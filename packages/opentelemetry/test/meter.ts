import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { fakeClock } from '@spillway/conformance'
import type { Store } from '@spillway/core'
import { httpGuard, type RateLimitOptions, type RequestReader } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { afterEach, beforeEach } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { type Telemetry, telemetry } from '../src/index.ts'

// Against the real SDK: the test reads what an exporter would receive.

interface Visit {
  readonly ip: string
}

const reader: RequestReader<Visit> = { ...plainReader, address: ({ ip }) => ip, peer: ({ ip }) => ip }

export let exporter: InMemoryMetricExporter
export let metricReader: PeriodicExportingMetricReader
export let spans: InMemorySpanExporter
export let measure: Telemetry

/** Measures anew, as an app that calls `telemetry()` now. */
export function startTelemetry(): void {
  measure = telemetry()
}

export function startMetrics(): void {
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  metricReader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 })
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [metricReader] }))
}

beforeEach(() => {
  startMetrics()
  spans = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  startTelemetry()
})

afterEach(async () => {
  await metricReader.shutdown()
  for (const api of [metrics, trace, context]) api.disable()
})

/** The measurements under a name: each point's attributes, without the prefix, and its sum. */
export async function sumsOf(name: string): Promise<readonly (readonly [attributes: string, sum: number])[]> {
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

export function guardOf(options: Partial<RateLimitOptions<Visit>>, store: Store = memoryStore({ clock: fakeClock() })) {
  const guard = httpGuard<Visit>({ store, onDecision: measure.onDecision, ...options } as never, reader)
  return async (ip = '192.0.2.1') => guard({ ip })
}
