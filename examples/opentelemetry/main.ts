// An app with a limiter and /metrics, which Prometheus scrapes.

import { pathToFileURL } from 'node:url'
import { metrics } from '@opentelemetry/api'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { memoryStore, perHour, perSecond, rateLimit } from '@spillway/express'
import { telemetry } from '@spillway/opentelemetry'
import express from 'express'

// The OpenTelemetry SDK, as in any app.
const prometheus = new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true, withoutTargetInfo: true })
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [prometheus] }))

// One call for the decisions of all limiters, and one for each store.
export const measure = telemetry()
measure.subscribe()
const store = measure.store(memoryStore(), 'memory')

export const app = express()

// Before the limiter, so that scrapes are not limited.
app.get('/metrics', (req, res) => prometheus.getMetricsRequestHandler(req, res))

app.use(
  rateLimit({
    store,
    policies: [
      { name: 'burst', quota: perSecond(5, { burst: 10 }) },
      { name: 'hour', quota: perHour(1000) },
      { name: 'next-hour', quota: perHour(2), mode: 'shadow' },
    ],
  }),
)

app.get('/', (_req, res) => {
  res.send('hello\n')
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  app.listen(3000, () => console.log('http://localhost:3000, http://localhost:3000/metrics'))
}
