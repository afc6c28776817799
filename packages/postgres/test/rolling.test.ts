import { readFileSync } from 'node:fs'
import { perDay, type Quota, type Store } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { migrate, migrationSql } from '../src/index.ts'
import { rowName } from '../src/key.ts'
import { VERSION } from '../src/migration.ts'
import { unhurried } from './unhurried.ts'

// While processes are replaced one by one, those of version 9 run beside those of this version.

/** What version 9 of the migration ran, for the table `spillway`. */
const version9 = readFileSync(new URL('version-9.sql', import.meta.url), 'utf8')

let server: Postgres
let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ ...server.config, max: 8 })
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

/** Takes one unit, and reports whether it was allowed. */
type Take = (key: string) => Promise<boolean>

const DAY = 86_400_000_000

/** The calls that a process of version 9 sends for one unit of a quota per day. */
const clientOf9 = (limit: number): Readonly<Record<string, Take>> => {
  const call = async (text: string, values: readonly unknown[]): Promise<boolean> => {
    const { rows } = await pool.query(`SELECT ${text} AS taken`, [...values, null, '20000', false])
    return rows[0].taken.split(' ')[1] === '1'
  }
  const name = (key: string): string => rowName({ policy: 'p', key })
  const unit = Math.ceil(DAY / limit)
  const early = (unit * limit - DAY) % limit
  if (early > 0) {
    // In parts of a microsecond, the day is whole.
    const step = `24 1 0 ${unit} ${unit} ${DAY} ${DAY} 0 0 0 0 0 0 0 0 0 0 0 ${limit} ${early} ${early} 0 0 0 0`
    const values = [1, limit, unit, early, unit - DAY, early, unit - DAY, early, DAY, 0, step]
    return {
      fraction: (key) =>
        call('spillway_take_fraction($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)', [
          name(key),
          ...values,
        ]),
      all: (key) => call('spillway_take_all($1, $2, $3, $4, $5, $6)', [name(key), step, '1 1 1']),
    }
  }
  const step = `24 1 0 ${unit} ${unit} ${DAY} ${DAY} 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0`
  return {
    same: (key) =>
      call('spillway_take_same($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)', [name(key), 1, unit, unit, DAY, DAY, 0]),
    all: (key) => call('spillway_take_all($1, $2, $3, $4, $5, $6)', [name(key), step, '1 1 1']),
  }
}

const clientOf10 = (store: Store, quota: Quota): Take => {
  const step = stepFor(quota, 'consume', 1)
  return async (key) => (await store.take([{ policy: 'p', key, step }]))[0]?.allowed === true
}

const drop = () => pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')

describe.each([
  ['whole microseconds', 300],
  ['a remainder', 299],
])('a bucket with %s', (_, limit) => {
  test.each([
    ['that version 9 created', version9],
    ['that is new', ''],
  ])('is counted alike by both versions on a table %s', async (_, before) => {
    await drop()
    if (before !== '') await pool.query(before)
    const own = clientOf10(unhurried(pool, { coalesce: false }), perDay(limit))
    const takes = [own, ...Object.values(clientOf9(limit))]
    expect(await own('a')).toBe(true)
    const all: boolean[] = []
    for (let i = 0; i < limit + 9; i++) all.push(await (takes[i % takes.length] as Take)('a'))
    expect(all).toEqual(all.map((_, i) => i < limit - 1))
  })

  test('is exact while the migration runs between calls of both versions', async () => {
    await drop()
    await pool.query(version9)
    const takes = Object.values(clientOf9(limit))
    const counts = { allowed: 0, migrated: false }
    const caller = async (take: Take, least: number): Promise<void> => {
      for (let i = 0; i < least || !counts.migrated; i++) if (await take('a')) counts.allowed++
    }
    const callers = takes.map((take) => caller(take, limit))
    await migrate(pool)
    const own = clientOf10(unhurried(pool), perDay(limit))
    counts.migrated = true
    await Promise.all([...callers, caller(own, limit), caller(own, limit)])
    expect(counts.allowed).toBe(limit)
  })
})

test('both migrations can run after each other, in any order', async () => {
  await drop()
  const version = async (): Promise<number> => (await pool.query('SELECT spillway_version() AS v')).rows[0].v
  for (const sql of [version9, migrationSql(), version9]) await pool.query(sql)
  expect(await version()).toBe(9)
  await migrate(pool)
  expect(await version()).toBe(VERSION)
  expect(await clientOf10(unhurried(pool), perDay(300))('a')).toBe(true)
})
