import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { migrate } from '@spillway/postgres'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PROGRAM } from './program.ts'
import { startPostgres } from './services/postgres.ts'
import { startRedis } from './services/redis.ts'

// Blocks in two operating system processes on one server.

const FILE = fileURLToPath(new URL('lifecycle/login.ts', import.meta.url))
const ATTEMPTS = 60

interface Served {
  readonly child: ChildProcess
  readonly port: number
}

async function served(kind: string, place: string): Promise<Served> {
  const child = fork(FILE, [kind, place], { execArgv: [...PROGRAM] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(child, 'message')) as [number]
  return { child, port }
}

const stores: Readonly<Record<string, () => Promise<string>>> = {
  redis: async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    return String(server.port)
  },
  postgres: async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    const pool = new pg.Pool(server.config)
    await migrate(pool)
    await pool.end()
    return JSON.stringify(server.config)
  },
}

async function send({ port }: Served, method: string, path: string, user: string) {
  const headers = { 'x-user': user, connection: 'close' }
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
  await response.arrayBuffer()
  return { status: response.status, waits: Number(response.headers.get('retry-after')) }
}

async function tell({ child }: Served, call: 'block' | 'unblock', key: string): Promise<void> {
  child.send({ call, key })
  await once(child, 'message')
}

describe.each(Object.entries(stores))('two processes on one %s', (kind, start) => {
  test('check 5 of many concurrent wrong logins together, and are then both blocked', async () => {
    const place = await start()
    const both = (await Promise.all([served(kind, place), served(kind, place)])) as [Served, Served]
    expect(new Set([process.pid, ...both.map(({ child }) => child.pid)]).size).toBe(3)
    const login = (i: number, user: string) => send(both[i % 2] as Served, 'POST', '/login', user)
    const answers = await Promise.all(Array.from({ length: ATTEMPTS }, (_, i) => login(i, 'alice')))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(ATTEMPTS - 5).fill(429)])
    for (const i of [0, 1]) {
      const { status, waits } = await login(i, 'alice')
      expect([status, waits > 600, waits <= 900]).toEqual([429, true, true])
      expect((await login(i, 'bob')).status).toBe(401)
    }

    const [one, other] = both
    const visit = async () =>
      (await Promise.all(both.map((each) => send(each, 'GET', '/', 'alice')))).map(({ status }) => status)
    expect(await visit()).toEqual([200, 200])
    await tell(one, 'block', 'alice')
    expect(await visit()).toEqual([429, 429])
    expect((await send(other, 'GET', '/', 'bob')).status).toBe(200)
    await tell(other, 'unblock', 'alice')
    expect(await visit()).toEqual([200, 200])
    // Two processes start, each with a framework and a client.
  }, 120_000)
})
