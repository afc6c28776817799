import type { PGlite } from '@electric-sql/pglite'
import type { Store } from '@spillway/core'
import type pg from 'pg'
import { expectTypeOf, test } from 'vitest'
import type { migrate, PostgresStore, postgresStore, sweep } from '../src/index.ts'

test('accepts the real clients without a cast', () => {
  expectTypeOf<pg.Pool>().toExtend<Parameters<typeof postgresStore>[0]>()
  expectTypeOf<PGlite>().toExtend<Parameters<typeof postgresStore>[0]>()
  expectTypeOf<pg.Pool>().toExtend<Parameters<typeof migrate>[0]>()
  expectTypeOf<PGlite>().toExtend<Parameters<typeof sweep>[0]>()
  expectTypeOf<PostgresStore>().toExtend<Store>()
})

test('rejects a single client, which concurrent requests would share', () => {
  expectTypeOf<pg.Client>().not.toExtend<Parameters<typeof postgresStore>[0]>()
})
