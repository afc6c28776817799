import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, on, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { rateLimiter, type SlotsStep, type Store } from '@spillway/core'
import { acquire, inFlight } from '@spillway/core/in-flight'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROGRAM } from '../program.ts'
import { runsOf } from '../runs.ts'
import { until } from '../services/redis-cluster.ts'

// The stories of slots on a real server, with real processes: they are killed and stopped, and their clocks are wrong.

/** The arguments of a process. */
export interface Holder {
  readonly connection: Connection
  readonly clockOffMs: number
}

type Connection =
  | { readonly port: number }
  | { readonly host: string; readonly user: string; readonly database: string }

/** Slots of the key that all processes hold. */
export interface Slots {
  readonly limit: number
  readonly ttlMs: number
}

/** The order to a process: acquire, release all, or both for a while. */
export interface Order extends Slots {
  readonly does: 'acquire' | 'release' | 'race'
  readonly forMs?: number
}

/** A server, as the test has started it. */
export interface SlotsServer {
  readonly connection: Connection
  readonly store: Store
  /** The time of the server, in microseconds. */
  now(): Promise<number>
}

interface Process {
  readonly child: ChildProcess
  /** How many of its callers are inside. */
  inside: number
  isKilled: boolean
  /** Sends an order, and resolves with the answer. */
  tell(does: Order['does'], of: Slots, forMs?: number): Promise<unknown>
  heard(): Promise<unknown>
}

// Longer than any process is late on a busy machine: one that is late by more loses its slots, as it should.
const TTL = 30_000
/** For how long processes race. */
const RACE_MS = runsOf(1_000)
/** How far off their clocks are: each process takes a second to start, so there are more of them in long runs only. */
const CLOCKS_OFF_MS = [10_000, -10_000, 0, 5_000, -5_000, 0, 0, 0].slice(0, runsOf(5))

const nameOf = ({ limit, ttlMs }: Slots): string => `${limit} for ${ttlMs} ms`

const program = fileURLToPath(new URL('holding.ts', import.meta.url))

async function start(connection: Connection, clockOffMs: number, onMove: () => void): Promise<Process> {
  const holder: Holder = { connection, clockOffMs }
  const child = fork(program, [JSON.stringify(holder)], { execArgv: [...PROGRAM] })
  const said = new EventEmitter()
  const answers = on(said, 'said')
  const process: Process = {
    child,
    inside: 0,
    isKilled: false,
    heard: async () => (await answers.next()).value[0],
    tell(does, of, forMs) {
      child.send({ does, ...of, forMs })
      return process.heard()
    },
  }
  child.on('message', (message: { said: unknown } | { by: number; move: number }) => {
    if (process.isKilled) return
    if ('said' in message) return void said.emit('said', message.said)
    process.inside += message.by
    onMove()
    child.send({ move: message.move })
  })
  child.on('exit', (code, signal) => {
    if (signal !== 'SIGKILL') said.emit('error', new Error(`The process ended by itself: ${code ?? signal}.`))
  })
  expect(await process.heard()).toBe('ready')
  return process
}

async function kill(process: Process): Promise<void> {
  const ended = once(process.child, 'exit')
  process.child.kill('SIGKILL')
  await ended
  // It is no longer inside, and its slots are not free yet.
  process.isKilled = true
  process.inside = 0
}

/** Runs the stories of slots on a server that a test has started. */
export function testInFlight(serverOf: () => SlotsServer): void {
  let processes: readonly Process[] = []
  let most = 0
  const count = (): void => {
    most = Math.max(
      most,
      processes.reduce((sum, { inside }) => sum + inside, 0),
    )
  }
  beforeAll(async () => {
    processes = await Promise.all(CLOCKS_OFF_MS.map((off) => start(serverOf().connection, off, count)))
  })
  afterAll(() => {
    for (const { child } of processes) child.kill('SIGKILL')
  })

  const limiterOf = (of: Slots) => {
    const quota = inFlight(of.limit, { ttl: of.ttlMs })
    return rateLimiter({ name: nameOf(of), quota, store: serverOf().store, onStoreError: 'throw', deadline: '10s' })
  }
  /** Whether so many slots are free at a time of the server. */
  const areFree = async (slots: number, of: Slots, at: number): Promise<boolean> => {
    const sizes = { increment: slots, check: slots, limit: of.limit, ttl: of.ttlMs * 1e3 }
    const step: SlotsStep = { kernel: 'slots', ...sizes, id: 0, peek: true }
    return (await serverOf().store.take([{ policy: nameOf(of), key: 'hot', step }], at))[0]?.allowed === true
  }

  test('processes with wrong clocks never hold more slots than there are, while some are killed', async () => {
    const of = { limit: 12, ttlMs: TTL }
    const [killed, kept] = [processes.slice(0, 2), processes.slice(2)]
    const races = kept.map(({ tell }) => tell('race', of, RACE_MS))
    for (const each of killed) {
      void each.tell('race', of, RACE_MS)
      await until(async () => each.inside > 0)
      await kill(each)
    }
    const admitted = (await Promise.all(races)) as number[]
    // More than one process has callers.
    expect([most > 4, most <= of.limit]).toEqual([true, true])
    expect(Math.min(...admitted)).toBeGreaterThan(0)
    const now = await serverOf().now()
    expect([await areFree(12, of, now), await areFree(12, of, now + TTL * 1.1e3)]).toEqual([false, true])
  })

  test('the slots of a process that is killed are free when their ttl is over, and not before', async () => {
    const of = { limit: 2, ttlMs: TTL }
    const holder = processes[2] as Process
    expect([await holder.tell('acquire', of), await holder.tell('acquire', of)]).toEqual([true, true])
    await kill(holder)
    const killedAt = await serverOf().now()
    expect([await areFree(1, of, killedAt + TTL * 0.5e3), await areFree(2, of, killedAt + TTL * 1.1e3)]).toEqual([
      false,
      true,
    ])
  })

  test('a process that was stopped holds nothing that it has lost, and says so', async () => {
    const of = { limit: 1, ttlMs: 1_000 }
    const holder = processes[3] as Process
    expect(await holder.tell('acquire', of)).toBe(true)
    holder.child.kill('SIGSTOP')
    const limiter = limiterOf(of)
    const slot = await acquire(limiter, 'hot', { maxWait: '10s' })
    expect(slot.allowed).toBe(true)
    holder.child.kill('SIGCONT')
    expect(await holder.heard()).toBe('lost')
    expect(await holder.tell('release', of)).toBe('released')
    expect((await acquire(limiter, 'hot')).allowed).toBe(false)
    expect(slot.isLost).toBe(false)
    await slot.release()
    expect(await holder.tell('acquire', of)).toBe(true)
  })

  test('a process that runs renews its slots', async () => {
    const of = { limit: 1, ttlMs: 3_000 }
    const holder = processes[4] as Process
    expect(await holder.tell('acquire', of)).toBe(true)
    // A slot that is not renewed is free then.
    const ends = (await serverOf().now()) + of.ttlMs * 1e3
    await until(async () => !(await areFree(1, of, ends)))
    expect((await acquire(limiterOf(of), 'hot')).allowed).toBe(false)
  })
}
