import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testStore } from '@spillway/conformance'
import { perDay, perMinute, rateLimiter, StoreError, type Take } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { sqliteStore } from '@spillway/sqlite'
import Database from 'libsql'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'spillway-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true }))

let tables = 0
const file = join(folder, 'suite.db')
const shared = new Database(file)
const newTable = (): { readonly table: string } => ({ table: `t${tables++}` })

describe('a file', () => {
  testStore(test, () => sqliteStore(shared, { deadline: '20s', ...newTable() }), { histories: 20 })
})

describe('a synchronous store', () => {
  testStore(test, () => sqliteStore(shared, { sync: true, deadline: '20s', ...newTable() }), { histories: 20 })
})

const LIMIT = 50
const take: Take[] = [{ policy: 'p', key: 'hot', step: stepFor(perDay(LIMIT), 'consume', 1) }]

test('eight connections admit exactly the limit of one key', async () => {
  const options = { deadline: '30s', ...newTable() } as const
  const stores = Array.from({ length: 8 }, () => sqliteStore(new Database(file), options))
  const answers = await Promise.all(
    Array.from({ length: 160 }, (_, i) => (stores[i % 8] as (typeof stores)[number]).take(take)),
  )
  expect(answers.filter(([taken]) => taken?.allowed).length).toBe(LIMIT)
})

test('a denial waits for no other process that holds the write lock', async () => {
  const options = newTable()
  const store = sqliteStore(shared, { sync: true, ...options })
  const all: Take[] = [{ policy: 'p', key: 'hot', step: stepFor(perDay(LIMIT), 'consume', LIMIT) }]
  store.takeSync(all)
  const other = new Database(file)
  other.exec('BEGIN IMMEDIATE')
  expect(store.takeSync(take)[0]?.allowed).toBe(false)
  expect(() => store.takeSync([{ policy: 'p', key: 'cold', step: stepFor(perDay(LIMIT), 'consume', 1) }])).toThrow(
    /SQLite failed: .*Another process or connection held the lock/,
  )
  other.exec('COMMIT')
})

test('expired rows are deleted while others are written', async () => {
  const options = newTable()
  const store = sqliteStore(shared, { sync: true, ...options })
  const count = (): unknown => (shared.prepare(`SELECT count(*) AS n FROM ${options.table}`).get() as { n: unknown }).n
  const taken = (key: string): unknown =>
    store.takeSync([{ policy: 'p', key, step: stepFor(perDay(1000), 'consume', 1) }])
  for (let i = 0; i < 100; i++) taken(`user-${i}`)
  shared.exec(`UPDATE ${options.table} SET expires = 1`)
  for (let i = 0; i < 100; i++) taken('busy')
  expect(count()).toBe(1)
})

test('consumeSync works, and a failure throws', () => {
  const own = new Database(join(folder, 'own.db'))
  const limiter = rateLimiter({ name: 'sync', quota: perMinute(1), store: sqliteStore(own, { sync: true }) })
  expect([limiter.consumeSync('a').allowed, limiter.consumeSync('a').allowed]).toEqual([true, false])
  own.close()
  expect(() => limiter.consumeSync('a')).toThrow(StoreError)
})

test('a dropped table is created again', () => {
  const options = newTable()
  const store = sqliteStore(shared, { sync: true, ...options })
  store.takeSync(take)
  shared.exec(`DROP TABLE ${options.table}`)
  expect(store.takeSync(take)[0]?.allowed).toBe(true)
})

test('a read-only connection fails with what to do, and answers what writes nothing', () => {
  const path = join(folder, 'read-only.db')
  sqliteStore(new Database(path), { sync: true }).takeSync(take)
  const database = new Database(path)
  database.exec('PRAGMA query_only = 1')
  const store = sqliteStore(database, { sync: true })
  expect(() => store.takeSync(take)).toThrow(/connection is read-only/)
  expect(store.takeSync([{ ...(take[0] as Take), step: stepFor(perDay(LIMIT), 'peek', LIMIT) }])[0]?.allowed).toBe(
    false,
  )
})

test.each([undefined, null, 'limits.db', {}])('rejects the database %j', (database) => {
  expect(() => sqliteStore(database as never)).toThrow(/needs an open database, such as new DatabaseSync/)
})
