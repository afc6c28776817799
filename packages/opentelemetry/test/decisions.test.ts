import { trace } from '@opentelemetry/api'
import { leakyBucket, perMinute, perSecond } from '@spillway/core'
import { expect, test } from 'vitest'
import { exporter, guardOf, measure, spans, sumsOf } from './meter.ts'

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
