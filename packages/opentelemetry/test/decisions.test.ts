import { trace } from '@opentelemetry/api'
import { fakeClock, faultyStore } from '@spillway/conformance'
import { type Decision, leakyBucket, perMinute, perSecond, rateLimiter, type Store } from '@spillway/core'
import { degradedQuota } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import { describe, expect, test } from 'vitest'
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

describe('a degraded decision', () => {
  const recorded = async () => ({
    decisions: await sumsOf('spillway.decisions'),
    remaining: await sumsOf('spillway.remaining'),
    waits: await sumsOf('spillway.retry_after'),
    degraded: await sumsOf('spillway.degraded'),
  })
  const numbers = {
    decisions: [
      ['policy=p mode=enforce outcome=allowed', 2],
      ['policy=p mode=enforce outcome=denied', 1],
    ],
    remaining: [['policy=p', 0.5]],
    waits: [['policy=p', 30]],
  }
  const down = (): Store => {
    const faulty = faultyStore(memoryStore({ clock: fakeClock() }))
    faulty.break('failing')
    return faulty
  }

  test('is recorded after a failed lookup: the store has counted', async () => {
    const visit = guardOf({ name: 'p', quota: () => degradedQuota(perMinute(2), 'default') })
    for (let i = 0; i < 3; i++) await visit()
    expect(await recorded()).toEqual({ ...numbers, degraded: [['degraded.reason=lookup degraded.action=default', 3]] })
  })

  test('is recorded if the process has counted', async () => {
    const visit = guardOf({ name: 'p', quota: perMinute(2), logger: { warn: () => {} } }, down())
    for (let i = 0; i < 3; i++) await visit()
    const { waits, ...rest } = await recorded()
    expect(rest).toMatchObject({
      decisions: numbers.decisions,
      remaining: numbers.remaining,
      degraded: [['degraded.reason=error degraded.action=local', 3]],
    })
    expect(waits).toHaveLength(1)
  })

  test('is recorded for the policies that were counted, if another has no numbers', async () => {
    const visit = guardOf({
      policies: [
        { name: 'near', quota: perMinute(4), store: memoryStore({ clock: fakeClock() }) },
        { name: 'far', quota: perMinute(4), store: down(), onStoreError: 'allow' },
      ],
      logger: { warn: () => {} },
    })
    await visit()
    expect(await recorded()).toEqual({
      decisions: [['policy=near mode=enforce outcome=allowed', 1]],
      remaining: [['policy=near', 0.75]],
      waits: [],
      degraded: [['degraded.reason=error degraded.action=allow', 1]],
    })
  })
})

test('records no remaining fraction of a block list, which has no quota', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const limiter = rateLimiter({ name: 'p', quota: perMinute(4), blocks: true, store })
  await limiter.block('192.0.2.1', '1h')
  const decision = await limiter.consume('192.0.2.1')
  measure.onDecision({ decision, mode: 'enforce' })
  expect((await sumsOf('spillway.decisions')).map(([attributes]) => attributes)).toContain(
    'policy=p (blocked) mode=enforce outcome=denied',
  )
  expect((await sumsOf('spillway.remaining')).map(([attributes]) => attributes)).not.toContain('policy=p (blocked)')
  expect(await sumsOf('spillway.retry_after')).toEqual([['policy=p (blocked)', 3600]])
})

test('records no wait of a shadow policy: no client was sent or delayed', async () => {
  const queue = leakyBucket({ limit: 1000, per: '1s', queue: 5 })
  const visit = guardOf({
    policies: [
      { name: 'next', quota: perMinute(1), mode: 'shadow' },
      { name: 'queue', quota: queue, mode: 'shadow' },
    ],
  })
  for (let i = 0; i < 3; i++) await visit()
  expect(await sumsOf('spillway.remaining')).toHaveLength(2)
  expect([await sumsOf('spillway.retry_after'), await sumsOf('spillway.delay')]).toEqual([[], []])
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

test('no key is ever recorded, and no attribute ever has more than 200 values', async () => {
  for (let i = 0; i < 500; i++) {
    const visit = guardOf({ name: `policy ${i}`, quota: perMinute(1), onDecision: measure.onDecision })
    await visit(`198.51.100.${i % 250}`)
  }
  const decisions = await sumsOf('spillway.decisions')
  expect(decisions).toHaveLength(200)
  expect(decisions.find(([attributes]) => attributes.startsWith('policy=_OTHER'))?.[1]).toBe(301)
  expect(JSON.stringify(exporter.getMetrics())).not.toContain('198.51.100')
})

test('all modes, outcomes and metrics have the same 200 policies', async () => {
  const decision = await rateLimiter({ quota: perMinute(1), store: memoryStore() }).consume('a')
  const record = (policy: string, change: Partial<Decision>, mode: 'enforce' | 'shadow'): void =>
    measure.onDecision({ decision: { ...decision, ...change, policy }, mode })
  for (let i = 0; i < 150; i++) {
    record(`allowed ${i}`, {}, 'enforce')
    record(`denied ${i}`, { allowed: false, retryAfterMs: 1_000 }, 'enforce')
    record(`shadow ${i}`, {}, 'shadow')
  }
  const policies = async (name: string) => (await sumsOf(name)).map(([text]) => /policy=(\w+( \d+)?)/.exec(text)?.[1])
  const known = new Set(await policies('spillway.decisions'))
  expect(known.size).toBe(200)
  expect(new Set([...(await policies('spillway.remaining')), ...(await policies('spillway.retry_after'))])).toEqual(
    known,
  )
})
