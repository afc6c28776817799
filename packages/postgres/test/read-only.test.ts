import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { START } from '@spillway/conformance'
import { perMinute, type Quota, StoreError, slidingLog, slidingWindow, type Take } from '@spillway/core'
import { stepFor, type Verb } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { unhurried } from './unhurried.ts'

let server: Postgres
let writable: pg.Pool
let readOnly: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  writable = new pg.Pool({ ...server.config, max: 1 })
  readOnly = new pg.Pool({ ...server.config, max: 2, options: '-c default_transaction_read_only=on' })
})
afterAll(async () => {
  await readOnly.end()
  await writable.end()
  await server.stop()
})

const op = (key: string, verb: Verb, quota: Quota = perMinute(10), cost = 1): Take => ({
  policy: 'p',
  key,
  step: stepFor(quota, verb, cost),
})

// Reproduces a bug: in a read-only session (a standby, default_transaction_read_only, a full disk of a managed server), a
// denial was the error 25006. The fast path starts with an UPDATE, although a denial writes nothing.
describe.each([{ coalesce: true }, { coalesce: false }])('a read-only server, %o,', (how) => {
  beforeEach(async () => {
    const store = unhurried(writable)
    await store.delete([])
    await writable.query('DELETE FROM spillway')
  })

  test.each([
    ['bucket', perMinute(10)],
    ['window', slidingWindow({ limit: 10, window: '1m' })],
    ['log', slidingLog({ limit: 10, window: '1m' })],
  ])('denies and peeks a %s as a writable one does', async (_, quota) => {
    await unhurried(writable).take([op('a', 'consume', quota, 10)], START)
    for (const verb of ['consume', 'peek'] as const) {
      const ops = [op('a', verb, quota)]
      const denied = await unhurried(readOnly, how).take(ops, START)
      expect(denied[0]?.allowed).toBe(false)
      expect(denied).toEqual(await unhurried(writable).take(ops, START))
    }
    const free = [op('b', 'peek', quota)]
    const peeked = await unhurried(readOnly, how).take(free, START)
    expect(peeked[0]?.allowed).toBe(true)
    expect(peeked).toEqual(await unhurried(writable).take(free, START))
  })

  test('fails what must write, and says what to do', async () => {
    const error = await unhurried(readOnly, how)
      .take([op('a', 'consume')], START)
      .catch((reason) => reason)
    expect(error).toBeInstanceOf(StoreError)
    expect(error.message).toContain('(25006). The server or the session is read-only')
    expect(error.late).toBe(undefined)
    expect((await writable.query('SELECT FROM spillway')).rowCount).toBe(0)
  })

  test('fails of one event-loop tick only the calls that must write', async () => {
    await unhurried(writable).take([op('full', 'consume', perMinute(10), 10)], START)
    const store = unhurried(readOnly, how)
    const settled = await Promise.allSettled([
      store.take([op('full', 'consume')], START),
      store.take([op('free', 'consume')], START),
      store.take([op('free', 'peek')], START),
      store.take([op('free', 'consume'), op('full', 'consume')], START),
      store.take([op('free', 'consume'), op('other', 'consume')], START),
    ])
    const answers = settled.map((each) =>
      each.status === 'fulfilled' ? each.value.map(({ allowed }) => allowed) : each.reason.cause.code,
    )
    expect(answers).toEqual([[false], '25006', [true], [true, false], '25006'])
  })
})

test('a standby denies and peeks, and fails what must write', async () => {
  const primary = await startPostgres()
  const pool = new pg.Pool({ ...primary.config, max: 1 }).on('error', () => {})
  await unhurried(pool).take([op('full', 'consume', perMinute(10), 10)], START)
  await pool.query('CHECKPOINT')
  await primary.kill()
  // Without a primary it replays its WAL, and remains a standby.
  writeFileSync(join(primary.folder, 'data', 'standby.signal'), '')
  await primary.start()
  const store = unhurried(pool)
  expect((await pool.query('SELECT pg_is_in_recovery() AS standby')).rows).toEqual([{ standby: true }])
  expect((await store.take([op('full', 'consume')], START))[0]?.allowed).toBe(false)
  expect((await store.take([op('free', 'peek')], START))[0]?.allowed).toBe(true)
  await expect(store.take([op('free', 'consume')], START)).rejects.toThrow('25006')
  await pool.end()
  await primary.stop()
})
