import assert from 'node:assert/strict'
import { testStore } from '@spillway/conformance'
import { migrate, postgresStore } from '@spillway/postgres'
import pg from 'pg'
import { endOf } from './outcomes.ts'
import { runSuite } from './run.ts'

// A program: the store suite through a Prisma client, which has been generated beside it.

interface Prisma {
  $queryRawUnsafe(text: string, ...values: unknown[]): Promise<readonly unknown[]>
  $disconnect(): Promise<void>
}

/** What Prisma says of an error of PostgreSQL. */
interface PrismaError {
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: string } } }
}

/** The adapter that docs/guides/stores.md describes. */
const databaseOf = (prisma: Prisma) => ({
  query: async (text: string, values: unknown[]) => ({
    rows: await prisma.$queryRawUnsafe(text, ...values).catch((error: PrismaError) => {
      throw Object.assign(error, { code: error.meta?.driverAdapterError?.cause?.originalCode })
    }),
  }),
  exec: () => Promise.reject(new Error('Migrations run with a pool.')),
})

async function main(): Promise<void> {
  const generated: string = './prisma.mjs'
  const { prisma } = (await import(generated)) as { readonly prisma: Prisma }
  const pool = new pg.Pool()
  await migrate(pool)
  const database = databaseOf(prisma)
  await runSuite('PostgreSQL by Prisma', (test) => {
    test('errors have the code of PostgreSQL', async () => {
      await assert.rejects(async () => database.query('SELECT 1 / $1::int', [0]), { code: '22012' })
    })
    const make = async () => {
      await pool.query('DELETE FROM spillway')
      return postgresStore(database, { deadline: '25s' }) // slow machines are no failures
    }
    testStore(test, make, { histories: 60 })
  })
  await prisma.$disconnect()
  await pool.end()
  console.log(endOf(1))
}

void main()
