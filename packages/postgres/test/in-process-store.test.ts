// cspell:ignore pglite
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { START, testStore } from '@spillway/conformance'
import { perDay, perMinute } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate, sweep } from '../src/index.ts'
import { unhurried } from './unhurried.ts'

let database: PGlite
beforeAll(async () => {
  database = await PGlite.create()
  await migrate(database)
})
afterAll(() => database.close())
testStore(
  test,
  async () => {
    // Nothing vacuums the table: what a DELETE leaves would be scanned by each one after it.
    await database.query('TRUNCATE spillway')
    return unhurried(database)
  },
  { histories: 15 },
)
test('keeps its states in a folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-postgres-'))
  const ask = async (): Promise<boolean | undefined> => {
    const opened = await PGlite.create(folder)
    const step = stepFor(perDay(1), 'consume', 1)
    const [taken] = await unhurried(opened).take([{ policy: 'p', key: 'a', step }])
    await opened.close()
    return taken?.allowed
  }
  expect([await ask(), await ask()]).toEqual([true, false])
  rmSync(folder, { recursive: true })
  // A busy machine needs half a minute to start one.
}, 120_000)

test('sweeps, too', async () => {
  await database.query('DELETE FROM spillway')
  const step = stepFor(perMinute(10), 'consume', 1)
  await unhurried(database).take([{ policy: 'p', key: 'a', step }], START)
  expect([await sweep(database), await sweep(database)]).toEqual([1, 0])
})
