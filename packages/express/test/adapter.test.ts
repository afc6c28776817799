import { createServer } from 'node:http'
import { leanRateLimit, type Mount, type NeutralOptions, sendTo, testAdapter } from '@spillway/conformance'
import express from 'express'
import request from 'supertest'
import { describe, expect, test, vi } from 'vitest'
import { areOldest, boundsOf } from '../../../test/frameworks.ts'
import { decisionOf, memoryStore, perMinute, rateLimit } from '../src/index.ts'
import * as lean from '../src/lean.ts'

// Express does not support HTTP/2: its responses inherit from those of node:http.
type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

const mountWith =
  (limitOf: LimitOf): Mount =>
  (options, { timeout, inner, onHandled, besides, limited }) => {
    const app = express()
    app.use((_, res, next) => {
      void timeout.then(() => res.status(503).end())
      next()
    })
    for (const each of [options, ...inner]) app.use(limited(limitOf(each, besides)))
    app.use((req, res) => {
      onHandled()
      res.json({ rateLimit: decisionOf(req) })
    })
    return sendTo(createServer(app))
  }

testAdapter(test, mountWith(rateLimit), boundsOf({ takesUrls: true }))

if (!areOldest) describe('lean', () => testAdapter(test, mountWith(leanRateLimit(lean) as LimitOf)))

test('calls next() in the same tick', () => {
  const middleware = rateLimit({ quota: perMinute(1), store: memoryStore(), key: () => 'a' })
  let called = false
  const res = { setHeader: () => {}, getHeader: () => undefined }
  middleware({} as never, res as never, () => {
    called = true
  })
  expect(called).toBe(true)
})

test('passes a failing store on to the error handler', async () => {
  const app = express()
  const store = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
  app.use(rateLimit({ quota: perMinute(1), store, onStoreError: 'throw' }))
  app.use((error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
    res.status(503).send(error.name)
  })
  const response = await request(app).get('/')
  expect([response.status, response.text]).toEqual([503, 'StoreError'])
})

test('uses the trust proxy setting of the app', async () => {
  const app = express().set('trust proxy', 1)
  app.use(rateLimit({ quota: perMinute(1) }), (_req, res) => {
    res.end()
  })
  const from = (address: string) => request(app).get('/').set('x-forwarded-for', address)
  const statuses = [await from('10.0.0.1'), await from('10.0.0.2'), await from('spoofed, 10.0.0.1')].map(
    ({ status }) => status,
  )
  expect(statuses).toEqual([200, 200, 429])
})

// If every proxy is trusted, any client can choose its key: there was no warning.
test('warns once of an app that trusts every proxy, and only of that', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const serve = async (setting: unknown) => {
    const app = express().set('trust proxy', setting)
    app.use(rateLimit({ quota: perMinute(9) }), (_req, res) => {
      res.end()
    })
    await request(app).get('/')
  }
  for (const setting of [false, 1, 'loopback', '10.0.0.0/8', () => false]) await serve(setting)
  expect(warn).not.toHaveBeenCalled()
  for (const setting of [true, () => true, true]) await serve(setting)
  expect(warn).toHaveBeenCalledOnce()
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('trustProxy: 1'))
})

test('decides about 200 policies all-or-nothing, with headers that a client accepts', async () => {
  const policies = Array.from({ length: 200 }, (_, i) => ({ name: `p${i}`, quota: perMinute(i === 199 ? 2 : 5) }))
  const app = express()
  app.use(rateLimit({ policies }), (req, res) => {
    res.json(decisionOf(req)?.policies?.map(({ remaining }) => remaining))
  })
  const [first, , denied] = [await request(app).get('/'), await request(app).get('/'), await request(app).get('/')]
  expect([first.status, first.body]).toEqual([200, policies.map(({ quota }) => quota.limit - 1)])
  expect([denied.status, denied.body['violated-policies']]).toEqual([429, ['p199']])
  // What is denied has consumed nothing of the others.
  expect(denied.headers['ratelimit']?.match(/;r=3;/g)).toHaveLength(199)
  expect(JSON.stringify(denied.headers).length).toBeLessThan(8_192)
})

// Such a policy applied to no request, without a word.
test.each(['match', 'skip'] as const)('warns once of a %s.path without the prefix of its mount', async (option) => {
  const warningsOf = async (pattern: string, path: string): Promise<readonly unknown[]> => {
    const logger = { warn: vi.fn() }
    const app = express()
    const limits = { quota: perMinute(9), logger, [option]: { path: pattern } }
    app.use('/api', rateLimit(limits))
    app.use(rateLimit({ ...limits, name: 'root', key: () => 'ann' }))
    for (let i = 0; i < 2; i++) await request(app).get(path)
    return logger.warn.mock.calls
  }
  expect(await warningsOf('/login', '/api/login')).toEqual([[expect.stringContaining(`${option}.path matches`)]])
  for (const [pattern, path] of [
    ['/api/login', '/api/login'],
    ['/api/*', '/api/login'],
    ['/login', '/login'],
    ['/login', '/api/other'],
  ] as const) {
    expect(await warningsOf(pattern, path), `${pattern} ${path}`).toEqual([])
  }
})
