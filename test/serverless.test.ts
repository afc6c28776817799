import { configure } from '@codegenie/serverless-express'
import { perMinute as ofExpress, rateLimit as rateLimitExpress } from '@spillway/express'
import { perMinute as ofKoa, rateLimit as rateLimitKoa } from '@spillway/koa'
import express from 'express'
import Koa from 'koa'
import { expect, test } from 'vitest'

// Reproduces a bug: responses on AWS Lambda have no connection and never close, so that no refund was made.

const EVENT = {
  version: '2.0',
  rawPath: '/',
  rawQueryString: '',
  headers: { host: 'host' },
  requestContext: { http: { method: 'GET', path: '/', sourceIp: '192.0.2.1' }, stage: '$default' },
  isBase64Encoded: false,
}

const refundIf = (status: number): boolean => status >= 500

const express5 = () => {
  const app = express()
  app.use(rateLimitExpress({ quota: ofExpress(10), refundIf }))
  app.get('/', (_req, res) => void res.status(503).end('busy'))
  return app
}

const koa = () => {
  const app = new Koa()
  app.use(rateLimitKoa({ quota: ofKoa(10), refundIf }))
  app.use((ctx) => {
    ctx.status = 503
    ctx.body = 'busy'
  })
  return app.callback()
}

test.each([
  ['Express', express5],
  ['Koa', koa],
])('refundIf refunds on AWS Lambda, with %s', async (_, build) => {
  const handler = configure({ app: build() })
  const remaining: unknown[] = []
  for (let i = 0; i < 3; i++) {
    const { statusCode, headers } = await handler(EVENT, {}, () => {})
    remaining.push([statusCode, headers['ratelimit']])
  }
  expect(remaining).toEqual(Array(3).fill([503, '"default";r=9;t=6']))
})
