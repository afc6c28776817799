// An app that shuts down as docs/guides/production.md says, with leases or without. Each response takes a moment, and then
// says how many units it has used.

import { rateLimit, settled, tokenBucket, withLeases } from '@spillway/express'
import { redisStore } from '@spillway/redis'
import express from 'express'
import { Redis } from 'ioredis'
import { QUOTA, RESERVED, USED } from './units.ts'

const redis = new Redis(Number(process.argv[2]))
const leases = process.argv[3] === 'leases' ? withLeases(redisStore(redis), { requests: 20, maxLoss: '1d' }) : undefined
const app = express()
app.use(
  rateLimit({
    deadline: '10s',
    policies: [
      { name: 'requests', quota: tokenBucket(QUOTA), key: () => 'all', store: leases ?? redisStore(redis) },
      {
        name: 'tokens',
        quota: tokenBucket(QUOTA),
        key: () => 'all',
        store: redisStore(redis),
        cost: RESERVED,
        settle: () => USED,
      },
    ],
  }),
)
app.get('/', (_, res) => void setTimeout(() => res.send(String(process.pid)), 20))
const server = app.listen(0, '127.0.0.1', () => process.send?.(server.address()))

process.once('SIGTERM', () => {
  // Otherwise a busy client keeps its connection, and close() waits for it.
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'))
  server.close(async () => {
    await settled()
    await leases?.release()
    await redis.quit()
  })
  process.disconnect()
})
