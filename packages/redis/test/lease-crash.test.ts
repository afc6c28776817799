import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type BucketTaken, type LeaseOptions, tokenBucket } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { Redis as Ioredis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { PROGRAM } from '../../../test/program.ts'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { redisStore } from '../src/index.ts'

let server: Redis
let client: Ioredis
beforeAll(async () => {
  server = await startRedis()
  client = new Ioredis({ port: server.port })
})
beforeEach(() => client.flushall())
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** The arguments of a process. */
export interface Leasing {
  readonly port: number
  /** Units per day. */
  readonly limit: number
  readonly lease: number | LeaseOptions
  readonly requests: number
}

const program = fileURLToPath(new URL('leasing.ts', import.meta.url))

/** Starts a process that consumes units, and kills it. Returns the time of its first unit, by the server's clock. */
async function crash(leasing: Leasing): Promise<number> {
  const child = fork(program, [JSON.stringify(leasing)], { execArgv: [...PROGRAM] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const [first] = await Promise.race([once(child, 'message'), ended.then(() => expect.fail('it ended by itself'))])
  child.kill('SIGKILL')
  await ended
  return first as number
}

const DAY_MS = 86_400_000

// Reproduces a bug: with `perDay(1000)`, leases of 500 and two killed processes, no unit was left for a day. The loss is
// at most `min(lease, rate × maxLoss, burst / 2)` per process and key, plus the request that took the lease.
test.each([
  { limit: 1_000, lease: 500, maxLossMs: 1_000, requests: 100 },
  { limit: 864_000, lease: { requests: 500, maxLoss: '10s' as const }, maxLossMs: 10_000, requests: 1_000 },
  { limit: 864_000, lease: { requests: 40, maxLoss: '10s' as const }, maxLossMs: 10_000, requests: 400 },
])(
  'two processes that are killed lose no more than the docs say: %j',
  async ({ limit, lease, maxLossMs, requests }) => {
    const leasing = { port: server.port, limit, lease, requests }
    const first = await crash(leasing)
    await crash(leasing)
    const quota = tokenBucket({ limit, per: '1d' })
    const [{ base }] = (await redisStore(client).take([
      { policy: 'p', key: 'a', step: stepFor(quota, 'peek', 1) },
    ])) as [BucketTaken]
    // The bucket has not been full since the first unit: the time until it is full shows how many units were taken.
    const lost = Math.round((base - first) / quota.ticksPerUnit) - 2 * requests
    const most = typeof lease === 'number' ? lease : lease.requests
    const bound = Math.floor(Math.max(Math.min(most, (limit / DAY_MS) * maxLossMs, limit / 2), 1)) - 1
    expect(lost).toBeGreaterThanOrEqual(0)
    expect(lost).toBeLessThanOrEqual(2 * bound)
    // Checks the test itself: if more than one unit may be lost, some are.
    expect(lost > 0).toBe(bound > 0)
  },
)
