import express from 'express'
import request from 'supertest'
import { expect, test } from 'vitest'
import { perMinute as fullPerMinute } from '../src/index.ts'
import { byKey, createRateLimit, decisionOf, matching, perMinute, rateLimit, selectors } from '../src/lean.ts'

const served = (limit: ReturnType<typeof rateLimit>) => {
  const app = express()
  app.get('/early', (_req, res, next) => {
    res.end('early')
    next()
  })
  app.use(limit, (req, res) => {
    res.json(decisionOf(req)?.remaining ?? null)
  })
  return async (path: string) => {
    const { status, text } = await request(app).get(path)
    return [status, text]
  }
}

// Nothing refunds the units of such a request without the feature that settles.
test('a limiter without features does not count a request that is answered already', async () => {
  const get = served(rateLimit({ quota: perMinute(1), key: () => 'all' }))
  for (let i = 0; i < 3; i++) expect(await get('/early')).toEqual([200, 'early'])
  expect(await get('/')).toEqual([200, '0'])
  expect((await get('/'))[0]).toBe(429)
})

test('features read the request as the full limiter does', async () => {
  const limiting = createRateLimit(byKey, matching, selectors)
  const limit = limiting({ quota: fullPerMinute(1), key: 'query:user', match: { path: '/api/*' } })
  const get = served(limit)
  expect([await get('/api/a?user=ann'), await get('/other?user=ann')]).toEqual([
    [200, '0'],
    [200, 'null'],
  ])
  expect((await get('/api/b?user=ann'))[0]).toBe(429)
  await limit.reset('ann')
  expect(await get('/api/c?user=ann')).toEqual([200, '0'])
})
