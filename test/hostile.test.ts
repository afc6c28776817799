import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { fakeClock, quotasOf } from '@spillway/conformance'
import type { Decision, Quota, SyncStore, Take } from '@spillway/core'
import type { HeaderForm } from '@spillway/core/http'
import * as forExpress from '@spillway/express'
import { memoryStore } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import express from 'express'
import fc from 'fast-check'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { parseRateLimit } from 'ratelimit-header-parser'
import { parseList } from 'structured-headers'
import { beforeEach, expect, test, vi } from 'vitest'
import { type Delivery, deliver, type Outcome } from './hostile/deliver.ts'
import { CLIENTS, type HostileRequest, hostileRequest } from './hostile/requests.ts'

// For any request, an app with a limit responds as without one, or with 429. It counts the right client, and sends headers
// that other parsers can read. `HOSTILE_REQUESTS=100000` sends more requests to each framework.
const REQUESTS = Number(process.env.HOSTILE_REQUESTS ?? 3_000)
const AT_ONCE = 25

const COUNTED = { cost: 'header:x-weight', defaultCost: 2, maxCost: 9 } as const
const PARTS = ['header:x-api-key', 'method', 'cookie:sid', 'query:q', 'path'] as const

const optionsOf = (store: SyncStore, seen: Decision[], { policies, headers, jitter, trusted }: Scenario) => ({
  store,
  headers,
  jitter,
  policies: policies.map(({ name, quota, parts }) => ({
    name,
    quota,
    key: parts ? PARTS : ('ip' as const),
    ...COUNTED,
  })),
  onDecision: ({ decision }: { decision: Decision }) => void seen.push(decision),
  ...(trusted && { trustProxy: 1 }),
})

type Options = ReturnType<typeof optionsOf>

const frameworks: Record<string, (options: Options | undefined) => RequestListener> = {
  Express: (options) => {
    const app = express().disable('etag')
    if (options) app.use(forExpress.rateLimit(options))
    return app.use((_, res) => {
      res.end('ok')
    })
  },
  Koa: (options) => {
    const app = new Koa()
    app.silent = true
    if (options) app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    return app.callback()
  },
  Fastify: (options) => {
    const app = fastify()
    if (options) app.addHook('onRequest', forFastify.rateLimit(options))
    // The framework has routes for some methods only.
    app.setNotFoundHandler(async (_, reply) => reply.code(200).send('ok'))
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  },
  fetch: (options) => {
    const answer = (_: Request): Response => new Response('ok')
    return getRequestListener(options ? forFetch.rateLimit(options)(answer) : answer)
  },
  Hono: (options) => {
    const app = new Hono()
    if (options) app.use(forHono.rateLimit(options))
    app.use((c) => Promise.resolve(c.text('ok')))
    return getRequestListener(app.fetch)
  },
}

interface Scenario {
  readonly policies: readonly { readonly name: string; readonly quota: Quota; readonly parts: boolean }[]
  readonly headers: readonly HeaderForm[]
  readonly jitter: number
  /** Requests come through a trusted proxy, which appends the client to X-Forwarded-For. */
  readonly trusted: boolean
  readonly requests: readonly HostileRequest[]
}

// Without the leaky bucket, which would delay requests in real time.
const { 'leaky bucket': _, ...atOnce } = quotasOf

const scenario: fc.Arbitrary<Scenario> = fc.record({
  policies: fc.uniqueArray(
    fc.record({
      name: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 30 }),
      quota: fc.oneof(...Object.values(atOnce)),
      parts: fc.boolean(),
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
  ),
  headers: fc.constantFrom<HeaderForm[]>(
    ['draft-11'],
    ['draft-10', 'draft-6'],
    ['legacy-epoch', 'draft-11', 'draft-6'],
  ),
  jitter: fc.constantFrom(0, 0.5),
  trusted: fc.boolean(),
  requests: fc.array(hostileRequest, { minLength: AT_ONCE, maxLength: AT_ONCE }),
})

/** A store that records its last call. */
function watched(store: SyncStore) {
  const asked: Take[] = []
  const takeSync: SyncStore['takeSync'] = (ops, at) => {
    asked.push(...ops)
    return store.takeSync(ops, at)
  }
  const prepareSync: SyncStore['prepareSync'] = (policy, step) => {
    const take = (store as Required<SyncStore>).prepareSync(policy, step)
    return {
      look: (key, at) => {
        asked.push({ policy, key, step })
        return take.look(key, at)
      },
      commit: (allowed) => take.commit(allowed),
      take: (key, at) => {
        asked.push({ policy, key, step })
        return take.take(key, at)
      },
    }
  }
  return { store: { ...store, takeSync, prepareSync }, asked }
}

const headerOf = ({ lines }: HostileRequest, name: string): string =>
  lines
    .filter(([each]) => each.toLowerCase() === name)
    .map(([, value]) => value)
    .join(', ')

function costOf(request: HostileRequest): number {
  const said = headerOf(request, 'x-weight')
  return /^[0-9]+$/.test(said) && Number(said) > 0 ? Math.min(Number(said), 9) : 2
}

/** The parts of a composite key, each with its length as prefix. */
function partsOf(key: string): string[] {
  const parts: string[] = []
  for (let rest = key; rest !== ''; ) {
    const colon = rest.indexOf(':')
    const end = colon + 1 + Number(rest.slice(0, colon))
    assert.ok(rest.length >= end)
    parts.push(rest.slice(colon + 1, end))
    rest = rest.slice(end)
  }
  return parts
}

function checkAsked(asked: readonly Take[], { policies }: Scenario, request: HostileRequest): void {
  assert.deepEqual(
    asked.map(({ policy }) => policy),
    policies.map(({ name }) => name),
  )
  for (const [i, { quota, parts }] of policies.entries()) {
    const { key, step } = asked[i] as Take
    const unit = 'ticksPerUnit' in quota ? quota.ticksPerUnit / quota.scale : 1
    assert.ok(Math.abs(step.increment - costOf(request) * unit) < 1)
    if (parts) {
      const [apiKey, method, ...others] = partsOf(key)
      // Some frameworks trim the joined value of several header lines.
      assert.deepEqual(
        [apiKey?.trim(), method, others.length],
        [headerOf(request, 'x-api-key').trim(), request.method, 3],
      )
    } else {
      assert.equal(key, CLIENTS[request.client]?.[1])
    }
  }
}

/** A request directly from its client, or through the proxy, which appends the client's address. */
function deliveryOf(request: HostileRequest, { trusted }: Scenario): Delivery {
  const client = CLIENTS[request.client]?.[0] as string
  const reported: HostileRequest['lines'] = trusted ? [['X-Forwarded-For', client]] : []
  return { ...request, lines: [...request.lines, ...reported], from: trusted ? '10.0.0.1' : client }
}

/** Checks that a denied request gets 429, and that any other status is 200 or the same as without a limit. */
async function checkStatus(status: number, decision: Decision | undefined, without: () => Promise<Outcome>) {
  if (decision?.violated.length) assert.equal(status, 429)
  else if (status !== 200) assert.equal(status, (await without()).status)
}

type Item = { readonly item: string } & Readonly<Record<string, unknown>>

/** Parses the headers with two independent parsers. */
function checkTold({ status, headers }: Outcome, { policies, headers: forms }: Scenario, { violated }: Decision): void {
  const items = (name: string): readonly Item[] => {
    const list = parseList(headers.get(name) ?? '')
    return list.map(([item, parameters]) => ({ item: String(item), ...Object.fromEntries(parameters) }))
  }
  const [reported, left] = [items('ratelimit-policy'), items('ratelimit')]
  const names = policies.map(({ name }) => name)
  assert.deepEqual([reported.map(({ item }) => item), left.map(({ item }) => item)], [names, names])
  const retry = headers.get('retry-after')
  if (retry !== undefined) assert.match(`${status} ${retry}`, /^429 [1-9][0-9]*$/)
  for (const [i, { item, r, t }] of left.entries()) {
    assert.ok(Number(r) >= 0 && Number(r) <= Number(reported[i]?.q), `${r} left of ${reported[i]?.q}`)
    const denies = retry !== undefined && t !== undefined && violated.includes(item)
    if (denies) assert.ok(Number(retry) >= Number(t), `Retry-After: ${retry}, but t=${t}`)
  }
  if (!forms.includes('draft-6')) return
  const fields = ['limit', 'remaining', 'reset'].map((name) => `ratelimit-${name}`)
  const six = Object.fromEntries(fields.map((name) => [name, headers.get(name) ?? '']))
  assert.equal(parseRateLimit(six, { reset: 'seconds' })?.remaining, Math.min(...left.map(({ r }) => Number(r))))
}

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

test.each(Object.entries(frameworks))(
  `${REQUESTS} hostile requests in %s: no crash, no 500, no wrong key or cost, and headers that parse`,
  async (_, build) => {
    const bare = build(undefined)
    const count = { sent: 0, denied: 0 }
    const send = async (scenario: Scenario): Promise<void> => {
      const clock = fakeClock()
      const decisions: Decision[] = []
      const { store, asked } = watched(memoryStore({ clock, maxKeys: 40 }))
      const app = build(optionsOf(store, decisions, scenario))
      for (const request of scenario.requests) {
        clock.advance(request.afterMs)
        asked.length = 0
        const delivery = deliveryOf(request, scenario)
        const outcome = await deliver(app, delivery)
        count.sent++
        const decision = asked.length === 0 ? undefined : decisions.at(-1)
        await checkStatus(outcome.status, decision, () => deliver(bare, delivery))
        if (decision === undefined) continue
        if (outcome.status === 429) count.denied++
        checkAsked(asked, scenario, request)
        checkTold(outcome, scenario, decision)
      }
    }
    await fc.assert(fc.asyncProperty(scenario, send), { numRuns: Math.ceil(REQUESTS / AT_ONCE) })
    expect(count.sent).toBeGreaterThanOrEqual(REQUESTS)
    expect(count.denied).toBeGreaterThan(count.sent / 20)
  },
  Math.max(60_000, REQUESTS * 10),
)
