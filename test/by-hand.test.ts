import { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Store } from '@spillway/core'
import * as onElysia from '@spillway/elysia'
import * as onExpress from '@spillway/express'
import * as compat from '@spillway/express/compat'
import * as onFastify from '@spillway/fastify'
import * as onFetch from '@spillway/fetch'
import * as onH3 from '@spillway/h3'
import * as onH31 from '@spillway/h3/v1'
import * as onHono from '@spillway/hono'
import * as onKoa from '@spillway/koa'
import { memoryStore, perMinute } from '@spillway/memory'
import * as onNode from '@spillway/node'
import { describe, expect, test } from 'vitest'
import { unhandledRejections } from './unhandled.ts'

// Middleware that is called by hand with arguments missing. With a remote store, this ended the process: a promise that
// nothing handles was rejected after the store's answer.

const unhandled = unhandledRejections()

const socket = new Socket()
const request = Object.assign(new IncomingMessage(socket), { method: 'GET', url: '/', headers: {} })
const response = new ServerResponse(request)
const next = () => {}

const remote = (): Store => {
  const store = memoryStore()
  return {
    take: async (ops, at) => store.take(ops, at),
    takeEach: async (batches, at) => store.takeEach?.(batches, at) ?? [],
    delete: async (keys) => store.delete(keys),
  }
}

type Limit = (...args: unknown[]) => unknown
const keyed = (rateLimit: (options: never) => unknown) => (store: Store) =>
  rateLimit({ quota: perMinute(5), key: () => 'ann', store } as never) as Limit

const nothing: readonly unknown[] = []
const upgrade = [request, socket, Buffer.alloc(0)]

type Row = readonly [framework: string, build: (store: Store) => Limit, call: string, wrong: readonly unknown[][]]

const rows: readonly Row[] = [
  [
    'Express',
    keyed(onExpress.rateLimit),
    '(req, res, next)',
    [[], [null, null, null], [request], upgrade, [request, response], [request, undefined, next], [request, {}, next]],
  ],
  [
    'compat',
    (store) => compat.rateLimit({ keyGenerator: () => 'ann', store } as never) as unknown as Limit,
    '(req, res, next)',
    [[], [null, null, null], [request], upgrade, [request, response], [request, undefined, next], [request, {}, next]],
  ],
  [
    'Node',
    keyed(onNode.rateLimit),
    '(req, res, next)',
    // Without `next` it returns a promise.
    [[], [null, null, null], [request], upgrade, [request, undefined, next], [request, {}, next]],
  ],
  [
    'Fastify',
    keyed(onFastify.rateLimit),
    '(request, reply, done)',
    [[], [null, null, null], [request], upgrade, [request, { header: next }], [request, undefined, next]],
  ],
  [
    'Koa',
    keyed(onKoa.rateLimit),
    '(ctx, next)',
    [[], [null, null], [{ res: response, state: {} }], upgrade, [{}, next]],
  ],
  ['Hono', keyed(onHono.rateLimit), '(c, next)', [[], [null, null], [{ req: {} }], upgrade, [{}, next]]],
  ['h3', keyed(onH3.rateLimit), '(event, next)', [[], [null, null], [{ req: {}, context: {} }], upgrade, [{}, next]]],
  ['h3 1', keyed(onH31.rateLimit), '(event)', [[], [null], [request], upgrade, [{}]]],
  ['Elysia', keyed(onElysia.rateLimit), '(app)', [[], [null], [request], upgrade, [{}]]],
  ['fetch', keyed(onFetch.rateLimit), '(handler)', [[], [null], [request], upgrade, [{}]]],
  [
    'a handler for fetch',
    (store) => keyed(onFetch.rateLimit)(store)(() => new Response()) as Limit,
    '(request)',
    [[], [null], [request], upgrade, [{}]],
  ],
]

describe.each([
  ['in memory', memoryStore],
  ['remote', remote],
])('with a store %s', (_, storeOf) => {
  test.each(rows)(
    'a limiter of %s that is called by hand throws an error with advice',
    async (_, build, call, wrong) => {
      for (const args of wrong) {
        const limit = build(storeOf())
        // A framework that awaits the result also handles a rejection.
        await expect((async () => limit(...args))()).rejects.toThrow(`is called as ${call}; got (`)
      }
      expect(unhandled).toEqual(nothing)
    },
  )
})

test('the error says how an upgrade is limited', () => {
  const limit = onExpress.rateLimit({ quota: perMinute(5) }) as unknown as Limit
  expect(() => limit(...upgrade)).toThrow(
    'rateLimit is called as (req, res, next); got (an object, an object, an object). For what is no HTTP request, ' +
      'write await rateLimiter({ quota, store }).consume(key).',
  )
})

// It could neither pass a request on, nor keep it from the other listeners.
test.each(['request', 'upgrade'])('a limiter of Node is no listener of a server: %s', (event) => {
  const limit = onNode.rateLimit({ quota: perMinute(5) })
  const server = new Server().on(event, limit as never)
  const args = event === 'request' ? [request, response] : upgrade
  expect(() => server.emit(event, ...args)).toThrow('is called as (req, res, next); got (')
})
