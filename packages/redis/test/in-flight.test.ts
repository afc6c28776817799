import { type ChildProcess, fork } from 'node:child_process'
import { on, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { rateLimiter, type SlotsStep } from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { Redis as Ioredis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { PROGRAM } from '../../../test/program.ts'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { until } from '../../../test/services/redis-cluster.ts'
import { redisStore } from '../src/index.ts'

// Real processes on a real server: they are killed and stopped, and their clocks are wrong.

/** The arguments of a process. */
export interface Holder {
  readonly port: number
  readonly limit: number
  readonly ttlMs: number
  readonly clockOffMs: number
}

/** An order to a process: acquire, release all, or do both for so many milliseconds. */
export type Order = 'acquire' | 'release' | number

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

const program = fileURLToPath(new URL('holding.ts', import.meta.url))

interface Process {
  readonly child: ChildProcess
  /** Sends an order, and resolves with the answer. */
  tell(order: Order): Promise<unknown>
  heard(): Promise<unknown>
}

async function start(limit: number, ttlMs: number, clockOffMs = 0): Promise<Process> {
  const holder: Holder = { port: server.port, limit, ttlMs, clockOffMs }
  const child = fork(program, [JSON.stringify(holder)], { execArgv: [...PROGRAM] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const messages = on(child, 'message')
  const heard = async (): Promise<unknown> => (await messages.next()).value[0]
  expect(await heard()).toBe('ready')
  return {
    child,
    heard,
    tell: (order) => {
      child.send(order)
      return heard()
    },
  }
}

async function kill({ child }: Process): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const limiterOf = (limit: number, ttlMs: number) =>
  rateLimiter({
    name: `${limit} for ${ttlMs} ms`,
    quota: inFlight(limit, { ttl: ttlMs }),
    store: redisStore(client),
    onStoreError: 'throw',
    deadline: '10s',
  })

/** The time of the server. */
async function serverMicros(): Promise<number> {
  const [seconds, micros] = await client.time()
  return Number(seconds) * 1e6 + Number(micros)
}

/** Whether so many slots are free at a time. */
async function areFree(slots: number, name: string, at: number): Promise<boolean> {
  const step: SlotsStep = {
    kernel: 'slots',
    increment: slots,
    check: slots,
    limit: slots,
    ttl: TTL * 1e3,
    id: 0,
    peek: true,
  }
  return (await redisStore(client).take([{ policy: name, key: 'hot', step }], at))[0]?.allowed === true
}

// Longer than any process is late on a busy machine: one that is late by more loses its slots, as it should.
const TTL = 30_000

test('eight processes with wrong clocks never hold more slots than there are, while some are killed', async () => {
  const offs = [0, 10_000, -10_000, 0, 5_000, -5_000, 0, 0]
  const processes = await Promise.all(offs.map((off) => start(16, TTL, off)))
  const [killed, kept] = [processes.slice(0, 3), processes.slice(3)]
  const races = kept.map(({ tell }) => tell(2_000))
  for (const each of killed) {
    each.child.send(2_000)
    await until(async () => Number(await client.hget('inside', `${each.child.pid}`)) > 0)
    await kill(each)
    // It is no longer inside, and its slots are not free yet.
    await client.hdel('inside', `${each.child.pid}`)
  }
  const admitted = (await Promise.all(races)) as number[]
  const most = Number(await client.get('most'))
  expect([most > 4, most <= 16]).toEqual([true, true])
  expect(Math.min(...admitted)).toBeGreaterThan(0)
  const now = await serverMicros()
  const name = `16 for ${TTL} ms`
  expect([await areFree(16, name, now), await areFree(16, name, now + TTL * 1.1e3)]).toEqual([false, true])
})

test('the slots of a process that is killed are free when their ttl is over, and not before', async () => {
  const holder = await start(2, TTL)
  expect([await holder.tell('acquire'), await holder.tell('acquire')]).toEqual([true, true])
  await kill(holder)
  const killedAt = await serverMicros()
  const name = `2 for ${TTL} ms`
  expect([await areFree(1, name, killedAt + TTL * 0.5e3), await areFree(2, name, killedAt + TTL * 1.1e3)]).toEqual([
    false,
    true,
  ])
})

test('a process that was stopped holds nothing that it has lost, and says so', async () => {
  const holder = await start(1, 1_000)
  expect(await holder.tell('acquire')).toBe(true)
  holder.child.kill('SIGSTOP')
  const limiter = limiterOf(1, 1_000)
  const slot = await limiter.acquire('hot', { maxWait: '10s' })
  expect(slot.allowed).toBe(true)
  holder.child.kill('SIGCONT')
  expect(await holder.heard()).toBe('lost')
  expect(await holder.tell('release')).toBe('released')
  expect((await limiter.acquire('hot')).allowed).toBe(false)
  expect(slot.isLost).toBe(false)
  await slot.release()
  expect(await holder.tell('acquire')).toBe(true)
})

test('a process that runs renews its slots', async () => {
  const holder = await start(1, 3_000)
  expect(await holder.tell('acquire')).toBe(true)
  const [key] = (await client.keys('*hot*')) as [string]
  const before = await client.getBuffer(key)
  await until(async () => !before?.equals((await client.getBuffer(key)) as Buffer))
  expect((await limiterOf(1, 3_000).acquire('hot')).allowed).toBe(false)
})
