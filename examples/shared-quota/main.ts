// An organisation has 1,000 requests an hour. Its users share them, and no user gets more than 40 %.

import { pathToFileURL } from 'node:url'
import { perHour, type RateLimit, rateLimit } from '@spillway/express'
import { redisStore } from '@spillway/redis'
import express, { type Express } from 'express'
import { Redis } from 'ioredis'

/** The API, for organisations of `limit` requests an hour. */
export function apiOf(redis: Redis, limit: number): { app: Express; limits: RateLimit<'organisation' | 'user'> } {
  const limits = rateLimit({
    policies: [
      // Set by the authentication in front: a client must not choose whom it counts as.
      { name: 'organisation', quota: perHour(limit), key: 'header:x-organisation' },
      { name: 'user', quota: perHour(Math.floor(limit * 0.4)), key: ['header:x-organisation', 'header:x-user'] },
    ],
    store: redisStore(redis),
    deadline: '2s',
  })
  const app = express()
  app.use(limits)
  app.get('/', (_req, res) => {
    res.send('ok\n')
  })
  return { app, limits }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379')
  apiOf(redis, 1_000).app.listen(3000, () => console.log('http://localhost:3000'))
}
