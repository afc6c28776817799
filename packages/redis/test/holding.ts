// One of several processes that hold slots of one key. Its clock is wrong: no decision may depend on it.

import { rateLimiter, type Slot } from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { Redis } from 'ioredis'
import { redisStore } from '../src/index.ts'
import type { Holder, Order } from './in-flight.test.ts'

const { port, limit, ttlMs, clockOffMs } = JSON.parse(process.argv[2] as string) as Holder
const { now } = Date
Date.now = () => now() + clockOffMs

const client = new Redis({ port })
// Counted apart from the slots: a process enters after it has acquired, and leaves before it releases.
client.defineCommand('enter', {
  numberOfKeys: 2,
  lua: `
    redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    local all = 0
    for _, count in ipairs(redis.call('HVALS', KEYS[1])) do all = all + count end
    if all > tonumber(redis.call('GET', KEYS[2]) or 0) then redis.call('SET', KEYS[2], all) end`,
})
const enter = (): Promise<unknown> =>
  (client as unknown as { enter(...args: string[]): Promise<unknown> }).enter('inside', 'most', `${process.pid}`)

const limiter = rateLimiter({
  name: `${limit} for ${ttlMs} ms`,
  quota: inFlight(limit, { ttl: ttlMs }),
  store: redisStore(client),
  onStoreError: 'throw',
  deadline: '10s',
})
const slots: Slot[] = []

/** Acquires and releases slots in several callers, until the time is over. */
async function race(forMs: number): Promise<number> {
  const end = performance.now() + forMs
  let admitted = 0
  const call = async (): Promise<void> => {
    while (performance.now() < end) {
      const slot = await limiter.acquire('hot', { maxWait: 50 })
      if (!slot.allowed) continue
      admitted++
      await enter()
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
      await client.hincrby('inside', `${process.pid}`, -1)
      await slot.release()
    }
  }
  await Promise.all(Array.from({ length: 4 }, call))
  return admitted
}

process.on('message', async (order: Order) => {
  if (order === 'acquire') {
    const slot = await limiter.acquire('hot', { onLost: () => process.send?.('lost') })
    if (slot.allowed) slots.push(slot)
    process.send?.(slot.allowed)
  } else if (order === 'release') {
    await Promise.all(slots.splice(0).map((slot) => slot.release()))
    process.send?.('released')
  } else process.send?.(await race(order))
})
await client.ping()
process.send?.('ready')
