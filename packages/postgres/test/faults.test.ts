import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { START } from '@spillway/conformance'
import { type Store, StoreError } from '@spillway/core'
import { describe, expect, test } from 'vitest'
import { PROGRAM } from '../../../test/program.ts'
import { holding, MANY, pool, server, take, unitsOf } from './failures.ts'
import { unhurried } from './unhurried.ts'

/** Takes as fast as possible until a failure. Returns how many takes were answered, and how many were sent. */
async function untilItFails(store: Store, key: string): Promise<{ answered: number; asked: number }> {
  for (let answered = 0; ; answered++) {
    try {
      await take(store, key, START)
    } catch (error) {
      expect(error).toBeInstanceOf(StoreError)
      return { answered, asked: answered + 1 }
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

describe('a server that is killed and restarted', () => {
  test.each([{ coalesce: true }, { coalesce: false }])('has lost no answered unit, %o', async (options) => {
    const stores = Array.from({ length: 4 }, () => unhurried(pool, options))
    const loops = stores.map((store) => untilItFails(store, 'a'))
    while (
      (await pool.query('SELECT 1 FROM spillway WHERE tat > $1', [START + 200 * MANY.ticksPerUnit])).rowCount === 0
    );
    await server.kill()
    const counts = await Promise.all(loops)
    await server.start()
    const units = await unitsOf('a')
    expect(units).toBeGreaterThanOrEqual(sum(counts.map(({ answered }) => answered)))
    expect(units).toBeLessThanOrEqual(sum(counts.map(({ asked }) => asked)))
    // The same stores continue on the same pool.
    for (const store of stores) expect((await take(store, 'a', START))[0]?.allowed).toBe(true)
  })

  test('has lost every state of an unlogged table, and continues', async () => {
    const store = unhurried(pool, { table: 'fast', durability: 'unlogged' })
    await take(store, 'a', START)
    await server.kill()
    await server.start()
    expect((await pool.query('SELECT count(*) FROM fast')).rows).toEqual([{ count: '0' }])
    expect((await take(store, 'a', START))[0]?.allowed).toBe(true)
  })
})

describe('a statement whose session is closed', () => {
  test('by the server, takes nothing and holds nothing', async () => {
    const store = unhurried(pool)
    await take(store, 'a', START)
    const holder = await holding('a')
    const lost = take(unhurried(pool), 'a', START).catch((error) => error)
    await untilSomebodyWaits()
    await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
    expect(await lost).toBeInstanceOf(StoreError)
    await holder.release()
    await take(store, 'a', START)
    expect(await unitsOf('a')).toBe(2)
  })

  test('by the death of the client, takes once at most and holds nothing', async () => {
    const store = unhurried(pool)
    await take(store, 'a', START)
    const holder = await holding('a')
    const file = fileURLToPath(new URL('dying.ts', import.meta.url))
    const client = fork(file, [JSON.stringify(server.config)], { execArgv: [...PROGRAM] })
    await untilSomebodyWaits()
    client.kill('SIGKILL')
    await once(client, 'exit')
    await holder.release()
    await take(store, 'a', START)
    // The server detects the closed connection when it sends its reply.
    const others = `SELECT FROM pg_stat_activity WHERE query LIKE '%spillway_take%' AND state = 'active' AND pid <> pg_backend_pid()`
    while ((await pool.query(others)).rowCount !== 0);
    expect([2, 3]).toContain(await unitsOf('a'))
  })
})

async function untilSomebodyWaits(): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
  while ((await pool.query(waiting)).rowCount === 0);
}
