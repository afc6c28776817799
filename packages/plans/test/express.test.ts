import { perMinute, type RequestDecision, rateLimit } from '@spillway/express'
import express from 'express'
import request from 'supertest'
import { expect, test } from 'vitest'
import { cached } from '../src/index.ts'

const PLANS = { free: perMinute(10), pro: perMinute(100) }
type Plan = keyof typeof PLANS

/** An API whose plans are in a database that can be down. */
function setUp() {
  const db = { plans: { ann: 'free', bob: 'pro' } as Record<string, Plan>, down: false, lookups: 0 }
  let nowMs = 0
  const plan = cached(
    async (apiKey): Promise<Plan | undefined> => {
      db.lookups++
      if (db.down) throw new Error('connection lost')
      return db.plans[apiKey]
    },
    { ttl: '1m', default: 'free' as const, clock: () => nowMs, logger: { warn: () => {} } },
  )
  const app = express()
  const decisions: (RequestDecision | undefined)[] = []
  app.use(
    rateLimit({ key: 'header:x-api-key', quota: (req) => plan.quota(req.get('x-api-key'), PLANS) }),
    (req, res) => {
      decisions.push(req.rateLimit)
      res.end()
    },
  )
  const limitOf = async (apiKey: string): Promise<string | undefined> =>
    (await request(app).get('/').set('x-api-key', apiKey)).headers['ratelimit-policy']
  return { db, plan, decisions, limitOf, pass: (millis: number) => (nowMs += millis) }
}

test('each API key has the quota of its plan, after one lookup', async () => {
  const { db, limitOf } = setUp()
  for (let i = 0; i < 3; i++) {
    expect(await limitOf('ann')).toBe('"default";q=10;w=60')
    expect(await limitOf('bob')).toBe('"default";q=100;w=60')
    expect(await limitOf('mallory')).toBe('"default";q=10;w=60')
  }
  expect(db.lookups).toBe(3)
})

test('a plan that changes counts from the next request on, if the cache is informed', async () => {
  const { db, plan, decisions, limitOf } = setUp()
  await limitOf('ann')
  db.plans.ann = 'pro'
  expect(await limitOf('ann')).toBe('"default";q=10;w=60')
  plan.delete('ann')
  expect(await limitOf('ann')).toBe('"default";q=100;w=60')
  // The count goes on: three of a hundred units are a tenth of what they were of ten.
  expect(decisions.at(-1)?.remaining).toBe(79)
})

test('while the database is down, decisions report it, count on, and have the last known plan', async () => {
  const { db, decisions, limitOf, pass } = setUp()
  await limitOf('bob')
  db.down = true
  pass(60_000)
  await limitOf('bob')
  expect(await limitOf('bob')).toBe('"default";q=100;w=60')
  expect(await limitOf('carl')).toBe('"default";q=10;w=60')
  expect(decisions.map((decision) => [decision?.remaining, decision?.degraded])).toEqual([
    [99, undefined],
    [98, undefined],
    [97, { reason: 'lookup', action: 'stale' }],
    [9, { reason: 'lookup', action: 'default' }],
  ])
})

// As the guide has it. It was a policy of the same limiter, which reads all quotas first: each made-up key was a lookup.
test('a limiter by address in front saves the lookups of what it denies', async () => {
  const { plan, db } = setUp()
  const app = express()
  app.use(rateLimit({ name: 'address', quota: perMinute(3) }))
  app.use(rateLimit({ name: 'plan', key: 'header:x-api-key', quota: (req) => plan.quota(req.get('x-api-key'), PLANS) }))
  app.use((_, res) => void res.end())
  const statuses: number[] = []
  for (let i = 0; i < 10; i++) {
    statuses.push((await request(app).get('/').set('x-api-key', `made up ${i}`)).status)
  }
  expect(statuses).toEqual([200, 200, 200, ...Array(7).fill(429)])
  expect(db.lookups).toBe(3)
})

test('a denial has the numbers of the plan, also while the database is down', async () => {
  const { db, decisions, limitOf } = setUp()
  db.down = true
  for (let i = 0; i < 11; i++) await limitOf('bob')
  expect(decisions).toHaveLength(10)
  expect(await limitOf('bob')).toBe('"default";q=10;w=60')
})
