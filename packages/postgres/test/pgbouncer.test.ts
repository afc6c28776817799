import { START } from '@spillway/conformance'
import { type BucketTaken, perMinute, type Store } from '@spillway/core'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startPgBouncer } from '../../../test/services/pgbouncer.ts'
import { newPool, server, take } from './failures.ts'
import { unhurried } from './unhurried.ts'

// Needs real time: PgBouncer counts how long a query waits in whole seconds.
test('a connection that PgBouncer closes because all its server connections are in use is not reused', async () => {
  const bouncer = await startPgBouncer(server, 1, 'query_wait_timeout = 1')
  const broken: Error[] = []
  const behind = new pg.Pool({ ...bouncer.config, max: 2 }).on('error', (error) => broken.push(error))
  const store = unhurried(behind)
  await take(store, 'a', START)
  const holder = await behind.connect()
  await holder.query('BEGIN')
  await expect(take(store, 'a', START)).rejects.toThrow('query_wait_timeout (08P01)')
  expect([behind.totalCount, behind.idleCount]).toEqual([1, 0])
  await holder.query('ROLLBACK')
  holder.release()
  expect((await take(store, 'a', START))[0]?.allowed).toBe(true)
  await behind.end()
  await bouncer.stop()
  expect(broken).toEqual([])
})

// Row 36 of the peers' bugs: a prepared statement of that name exists already, in a session that is shared.
test('works behind PgBouncer with transaction pooling', async () => {
  const bouncer = await startPgBouncer(server, 2)
  const behind = Array.from({ length: 8 }, () => newPool(2, bouncer.config))
  const stores = behind.map((each, i) => unhurried(each, { coalesce: i % 2 === 0 }))
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, i) => take(stores[i % 8] as Store, 'hot', START, perMinute(100))),
  )
  expect(answers.filter(([taken]) => (taken as BucketTaken).allowed).length).toBe(100)
  expect(await stores[0]?.deleteAll?.(['p'])).toBe(1)
  // The lock timeouts end with their transactions.
  const timeouts = await Promise.all(behind.map(async (each) => (await each.query('SHOW lock_timeout')).rows[0]))
  expect(timeouts).toEqual(behind.map(() => ({ lock_timeout: '0' })))
  await Promise.all(behind.map((each) => each.end()))
  await bouncer.stop()
})
