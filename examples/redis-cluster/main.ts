// A count that all processes share, on a Redis Cluster: each user may send 10 requests at once, and then 10 a second, of 1,000
// at once and then 1,000 an hour. For a standalone Redis, write `new Redis(url)` instead of the cluster; nothing else changes.

import { pathToFileURL } from 'node:url'
import { perHour, perSecond, rateLimit } from '@spillway/express'
import { redisStore } from '@spillway/redis'
import express, { type Express, type Request } from 'express'
import { Cluster, type ClusterNode } from 'ioredis'

/** The app for these users, by API key, with the cluster of these nodes. */
export function build(
  users: ReadonlyMap<string, string>,
  nodes: readonly ClusterNode[],
): { app: Express; cluster: Cluster } {
  const cluster = new Cluster([...nodes])
  const app = express()

  // Verify the API key first: an unverified key must not select the user that is charged.
  const userOf = (req: Request) => users.get(req.get('authorization')?.replace(/^Bearer /, '') ?? '')
  app.use((req, res, next) => {
    if (userOf(req) === undefined) res.status(401).json({ error: 'Unknown API key.' })
    else next()
  })

  app.use(
    rateLimit({
      policies: [
        { name: 'burst', key: userOf, quota: perSecond(10) },
        { name: 'hourly', key: userOf, quota: perHour(1_000) },
      ],
      store: redisStore(cluster),
      // Longer than the default of 50 ms: the first call has to connect to the nodes.
      deadline: '2s',
    }),
  )
  app.get('/', (req, res) => {
    res.send(`${req.rateLimit?.remaining} requests left\n`)
  })
  return { app, cluster }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [host = '127.0.0.1', port = '7000'] = (process.env.REDIS_NODE ?? '').split(':')
  const users = new Map([['alices-key', 'alice']])
  build(users, [{ host, port: Number(port) }]).app.listen(3000, () => console.log('http://localhost:3000'))
}
