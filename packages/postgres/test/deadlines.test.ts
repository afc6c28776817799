import { START } from '@spillway/conformance'
import { type Duration, type Store, slidingWindow } from '@spillway/core'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { postgresStore } from '../src/index.ts'
import { failing, holding, newPool, pidOf, pool, take, unitsOf } from './failures.ts'
import { unhurried } from './unhurried.ts'

// Timeouts need a real clock. These calls wait for their deadline, which is long before the 30 s timeout of a test.
// Calls that must succeed have enough time on slow machines.
describe.each([{ coalesce: true }, { coalesce: false }])('the deadline holds, %o,', (how) => {
  let one: pg.Pool
  let patient: Store
  beforeEach(async () => {
    one = newPool(1)
    patient = unhurried(one, how)
    await take(patient, 'a', START)
  })
  afterEach(() => one.end())
  const hurried = (deadline: Duration): Store => postgresStore(one, { ...how, deadline })

  test('while another session locks the row; nothing is taken later, and the connection is kept', async () => {
    const pid = await pidOf(one)
    const holder = await holding('a')
    // The server's lock timeout is 10 % shorter: one second, so that its error arrives in time on a slow machine.
    await expect(take(hurried('10s'), 'a', START)).rejects.toThrow('Another transaction holds')
    await holder.release()
    expect(await pidOf(one)).toBe(pid)
    await take(patient, 'a', START)
    expect(await unitsOf('a')).toBe(2)
  })

  test('while all connections are in use; a connection that arrives late is released', async () => {
    const client = await one.connect()
    await expect(take(hurried(200), 'a', START)).rejects.toThrow('PostgreSQL did not answer in 200 ms')
    client.release()
    await take(patient, 'a', START)
    expect(await unitsOf('a')).toBe(2)
    expect([one.totalCount, one.idleCount, one.waitingCount]).toEqual([1, 1, 0])
  })

  test('while the server is frozen', async () => {
    const pid = await pidOf(one)
    process.kill(pid, 'SIGSTOP')
    await expect(take(hurried(200), 'a', START)).rejects.toThrow('PostgreSQL did not answer in 200 ms')
    // It is still frozen, and the pool has another connection.
    await take(patient, 'a', START)
    process.kill(pid, 'SIGCONT')
  })

  test('while every attempt fails', async () => {
    await failing(1_000_000, '40001')
    await expect(take(hurried(500), 'a', START)).rejects.toThrow(
      /Other transactions held its locks for 500 ms|did not answer in 500 ms/,
    )
  })
})

test('the general statement also stops waiting for a row lock before its caller times out', async () => {
  const windowed = slidingWindow({ limit: 10, window: '1m' })
  await take(unhurried(pool), 'a', START, windowed)
  const holder = await holding('a')
  // One second of real time for a slow machine, as above.
  const hurried = postgresStore(pool, { deadline: '10s' })
  await expect(take(hurried, 'a', START, windowed)).rejects.toThrow('Another transaction holds')
  await holder.release()
})
