import express, { type Express } from 'express'
import request from 'supertest'
import { expect, test } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

// onDenied answers itself, like an Express handler.

/** A template engine with one template, which Express renders in a later tick. */
class View {
  readonly path = 'slow'
  render(_options: object, done: (error: null, text: string) => void): void {
    done(null, '<h1>Slow down.</h1>')
  }
}

async function denied(onDenied: RateLimitOptions['onDenied'], app: Express = express()) {
  app.set('view', View)
  app.use(rateLimit({ quota: perMinute(1), key: () => 'a', ...(onDenied && { onDenied }) }))
  app.get('/', (_, res) => {
    res.send('ok')
  })
  await request(app).get('/')
  return request(app).get('/')
}

test.each<[string, RateLimitOptions['onDenied'], number, string]>([
  ['renders a page', (_req, _decision, res) => res.status(429).render('slow'), 429, '<h1>Slow down.</h1>'],
  ['redirects', (_req, _decision, res) => res.redirect('/slow'), 302, 'Found. Redirecting to /slow'],
  ['sends, and returns the response', (_req, _decision, res) => res.status(503).send('busy'), 503, 'busy'],
  ['sends later', async (_req, _decision, res) => void setImmediate(() => res.status(503).send('busy')), 503, 'busy'],
  [
    'sends by the response of the request',
    (req) => {
      req.res?.status(503).send('busy')
    },
    503,
    'busy',
  ],
])('it %s, and nothing more is sent', async (_, onDenied, status, text) => {
  const response = await denied(onDenied)
  expect([response.status, response.text]).toEqual([status, text])
  expect(response.headers['ratelimit']).toBe('"default";r=0;t=60')
})
