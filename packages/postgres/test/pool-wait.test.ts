import type { Deadline, Store } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PgPool, PgQuery } from '../src/index.ts'
import { MANY, newPool, take } from './failures.ts'
import { unhurried } from './unhurried.ts'

// Calls that wait for the only connection of a pool.

interface Sent {
  readonly values: readonly unknown[]
}

let one: pg.Pool
let sent: Sent[]
let store: Store
let single: Store
beforeEach(async () => {
  one = newPool(1)
  sent = []
  const watched: PgPool = {
    async connect() {
      const client = await one.connect()
      return {
        query: (query: PgQuery) => {
          sent.push({ values: query.values ?? [] })
          return client.query(query as pg.QueryConfig)
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        off: (event, listener) => client.off(event, listener),
      }
    },
  }
  store = unhurried(watched)
  single = unhurried(watched, { coalesce: false })
  for (const each of [store, single]) await take(each, 'ready')
  sent = []
})
afterEach(() => one.end())

/** The time at which a deadline has passed, by the clock. */
const passed = async ({ atMs }: Deadline): Promise<void> => {
  while (performance.now() < atMs) await new Promise((resolve) => setTimeout(resolve, atMs - performance.now()))
}

const op = (key: string) => ({ policy: 'p', key, step: stepFor(MANY, 'consume', 1) })

// Reproduces a bug: a call that had waited for 600 ms of its second took units 350 ms after it.
test('the time for locks is 10 % shorter than what the wait has left', async () => {
  const held = await one.connect()
  const taken = take(store, 'a')
  const endMs = performance.now() + 25_000
  await passed({ atMs: performance.now() + 200 })
  const releasedMs = performance.now()
  held.release()
  await taken
  const [{ values }] = sent as [Sent]
  const lockTimeoutMs = Number(values.at(-2))
  expect(lockTimeoutMs).toBeGreaterThan(0)
  expect(lockTimeoutMs).toBeLessThanOrEqual((endMs - releasedMs) * 0.9)
})

// Reproduces a bug: the statement was sent with the units of a call that had failed 250 ms before, for the sake of another.
test('a call whose deadline has passed is not sent with another', async () => {
  const held = await one.connect()
  const deadline = { atMs: performance.now() + 20 }
  const hurried = store.take([op('short')], undefined, deadline)
  const patient = store.take([op('long')])
  const failure = expect(hurried).rejects.toThrow('The deadline passed before the store could be asked.')
  await passed(deadline)
  held.release()
  expect((await patient)[0]).toMatchObject({ allowed: true })
  await failure
  const { rows } = await one.query('SELECT name FROM spillway WHERE name <> $1 ORDER BY name', ['p/ready'])
  expect(rows).toEqual([{ name: 'p/long' }])
  expect(sent.map(({ values }) => values[0])).toEqual(['p/long'])
})

test('a call whose deadline has passed while it waited alone is not sent, and says why', async () => {
  const held = await one.connect()
  const hurried = single.take([op('a')], undefined, { atMs: performance.now() + 20 })
  await expect(hurried.finally(() => held.release())).rejects.toThrow('no connection of the pool became free')
  await take(single, 'b')
  expect(sent).toHaveLength(1)
  expect([one.totalCount, one.idleCount]).toEqual([1, 1])
})
