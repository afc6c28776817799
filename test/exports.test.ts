import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forH31 from '@spillway/h3/v1'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import { expect, test } from 'vitest'

// An adapter exports all that its users need: @spillway/core is not their dependency, and pnpm hides it.

const VALUES = [
  'QuotaError',
  'RateLimitedError',
  'StoreError',
  'calendarWindow',
  'consumeAll',
  'decisionOf',
  'divideQuota',
  'fixedWindow',
  'inFlight',
  'inNetworks',
  'ipKey',
  'leakyBucket',
  'memoryStore',
  'penalty',
  'perDay',
  'perHour',
  'perMinute',
  'perMonth',
  'perSecond',
  'rateLimit',
  'rateLimiter',
  'settled',
  'sharedQuotaBounds',
  'slidingLog',
  'slidingWindow',
  'tokenBucket',
  'warmingUp',
  'withDenyCache',
  'withLeases',
  'withSharedQuota',
]

// The compiler checks these.
export type Types = [
  forExpress.Decision | forExpress.RequestDecision | forExpress.Quota | forExpress.Store,
  forFastify.Decision | forFastify.RequestDecision | forFastify.Quota | forFastify.Store,
  forFetch.Decision | forFetch.RequestDecision | forFetch.Quota | forFetch.Store,
  forHono.Decision | forHono.RequestDecision | forHono.Quota | forHono.Store,
  forKoa.Decision | forKoa.RequestDecision | forKoa.Quota | forKoa.Store,
  forExpress.PolicyOptions<unknown> | forFastify.PolicyOptions<unknown> | forFetch.PolicyOptions<unknown>,
  forElysia.Decision | forElysia.RequestDecision | forElysia.Quota | forElysia.Store,
  forH3.Decision | forH3.RequestDecision | forH3.Quota | forH3.Store,
  forH31.Decision | forH31.RequestDecision | forH31.Quota | forH31.Store | forH31.PolicyOptions<unknown>,
  forElysia.PolicyOptions<unknown> | forH3.PolicyOptions<unknown>,
  forHono.PolicyOptions<unknown> | forKoa.PolicyOptions<unknown> | forNode.PolicyOptions<unknown>,
  forNode.Decision | forNode.RequestDecision | forNode.Quota | forNode.Store,
]

const adapters = { forElysia, forExpress, forFastify, forFetch, forH3, forH31, forHono, forKoa, forNode }

test.each(Object.entries(adapters))('%s exports what its users need, as all adapters do', (_, adapter) => {
  expect(Object.keys(adapter).sort()).toEqual(VALUES)
})
