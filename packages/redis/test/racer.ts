// One of several processes that race for one key, with fifty callers for one second. It reports its counts.

import type { Taken } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { Cluster, Redis } from 'ioredis'
import { redisStore } from '../src/index.ts'
import { HOT, hotQuota, type Race, type Tally } from './race.ts'

const race = JSON.parse(process.argv[2] as string) as Race

// Its clock is wrong. No decision may depend on it.
const { now } = Date
Date.now = () => now() + race.clockOffMs

const client = race.clustered
  ? new Cluster(race.ports.map((port) => ({ host: '127.0.0.1', port })))
  : new Redis({ port: race.ports[0] as number })
const store = redisStore(client)
const ops = [{ ...HOT, step: stepFor(hotQuota, 'consume', 1) }]
// Connects, and loads the script.
await store.take([{ ...HOT, key: 'other', step: stepFor(hotQuota, 'consume', 1) }])

process.once('message', async () => {
  const tally: Tally = { admitted: 0, denied: 0, first: Number.POSITIVE_INFINITY }
  const end = performance.now() + race.forMs
  await Promise.all(
    Array.from({ length: race.callers }, async () => {
      while (performance.now() < end) {
        const [taken] = (await store.take(ops)) as [Taken]
        if (!taken.allowed) tally.denied++
        else {
          tally.admitted++
          tally.first = Math.min(tally.first, taken.now)
        }
        // A cached denial must not block the event loop for the other callers.
        if (!taken.allowed) await new Promise((resolve) => setImmediate(resolve))
      }
    }),
  )
  process.send?.(tally)
  client.disconnect()
  process.disconnect()
})
process.send?.('ready')
