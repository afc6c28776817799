// One of several processes that share a quota. It consumes units as fast as it can, and reports its counts.

import { rateLimiter, type Store, withSharedQuota } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import { type Counts, DENIED, KEY, NAME, quota, type Servers } from './work.ts'

/** On a busy machine, a store takes long to answer. This does not test its deadline. */
const DEADLINE = '25s'

/** Requests of one event-loop turn: enough not to measure the loop, few enough to let it read answers. */
const TURN = 50

const { redis, postgres } = JSON.parse(process.argv[2] as string) as Servers
const stores: Record<keyof Servers, Store> = {
  redis: redisStore(new Redis(redis)),
  postgres: postgresStore(new pg.Pool({ ...postgres, max: 2 }), { deadline: DEADLINE }),
}

async function work(name: keyof Servers): Promise<Counts> {
  const counts: Counts = { admitted: 0, decisions: 0, calls: 0 }
  const store = stores[name] as Required<Store>
  const counted: Store = {
    ...store,
    take(...args) {
      counts.calls++
      return store.take(...args)
    },
    takeEach(...args) {
      counts.calls++
      return store.takeEach(...args)
    },
  }
  const limiter = rateLimiter({
    name: NAME,
    quota,
    store: withSharedQuota(counted),
    deadline: DEADLINE,
    onStoreError: 'throw',
  })
  while (counts.decisions - counts.admitted < DENIED) {
    const decisions = Array.from({ length: TURN }, () => limiter.consume(KEY))
    for (const { allowed } of await Promise.all(decisions)) {
      counts.decisions++
      if (allowed) counts.admitted++
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return counts
}

process.on('message', async (name: keyof Servers) => process.send?.(await work(name)))
process.send?.('ready')
