// One of several processes that hold slots of one key. Its clock is wrong: no decision may depend on it.

import { type RateLimiter, rateLimiter, type Slot } from '@spillway/core'
import { acquire, inFlight } from '@spillway/core/in-flight'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Holder, Order, Slots } from './stories.ts'

const { connection, clockOffMs } = JSON.parse(process.argv[2] as string) as Holder
const { now } = Date
Date.now = () => now() + clockOffMs

const store =
  'port' in connection ? redisStore(new Redis(connection)) : postgresStore(new pg.Pool({ ...connection, max: 4 }))

const limiters = new Map<string, RateLimiter>()

function limiterOf({ limit, ttlMs }: Slots): RateLimiter {
  const name = `${limit} for ${ttlMs} ms`
  const quota = inFlight(limit, { ttl: ttlMs })
  const limiter = limiters.get(name) ?? rateLimiter({ name, quota, store, onStoreError: 'throw', deadline: '10s' })
  limiters.set(name, limiter)
  return limiter
}

let moves = 0
const counted = new Map<number, () => void>()

/** Enters or leaves, and resolves when that is counted. */
const move = (by: 1 | -1): Promise<void> =>
  new Promise((resolve) => {
    moves += 1
    counted.set(moves, resolve)
    process.send?.({ by, move: moves })
  })

/** Acquires and releases slots in several callers, until the time is over. */
async function race(limiter: RateLimiter, forMs: number): Promise<number> {
  const end = performance.now() + forMs
  let admitted = 0
  const call = async (): Promise<void> => {
    while (performance.now() < end) {
      const slot = await acquire(limiter, 'hot', { maxWait: 50 })
      if (!slot.allowed) continue
      admitted++
      // Counted apart from the slots: a process enters after it has acquired, and leaves before it releases.
      await move(1)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
      await move(-1)
      await slot.release()
    }
  }
  await Promise.all(Array.from({ length: 4 }, call))
  return admitted
}

const slots: Slot[] = []

async function obey({ does, forMs, ...of }: Order): Promise<unknown> {
  if (does === 'race') return race(limiterOf(of), forMs ?? 0)
  if (does === 'release') {
    await Promise.all(slots.splice(0).map((slot) => slot.release()))
    return 'released'
  }
  const slot = await acquire(limiterOf(of), 'hot', { onLost: () => process.send?.({ said: 'lost' }) })
  if (slot.allowed) slots.push(slot)
  return slot.allowed
}

process.on('message', async (order: Order | { readonly move: number }) => {
  if ('does' in order) process.send?.({ said: await obey(order) })
  else counted.get(order.move)?.()
})
// The first call connects, and makes the tables and scripts.
await limiterOf({ limit: 1, ttlMs: 1_000 }).peek('ready')
process.send?.({ said: 'ready' })
