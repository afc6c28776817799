// A process that is killed while it holds a lease. It reports the time of its first unit by the server's clock.

import { type BucketTaken, tokenBucket } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { Redis } from 'ioredis'
import { redisStore } from '../src/index.ts'
import type { Leasing } from './lease-crash.test.ts'

const { port, limit, lease, requests } = JSON.parse(process.argv[2] as string) as Leasing
const store = redisStore(new Redis({ port }), { lease })
const step = stepFor(tokenBucket({ limit, per: '1d' }), 'consume', 1)
let first: number | undefined
for (let i = 0; i < requests; i++) {
  const [taken] = (await store.take([{ policy: 'p', key: 'a', step }])) as [BucketTaken]
  if (!taken.allowed) throw new RangeError(`denied after ${i} requests`)
  first ??= taken.now
}
process.send?.(first)
// Runs until it is killed, and does not return its lease.
setInterval(() => {}, 1_000)
