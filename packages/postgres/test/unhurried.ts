import { type Database, type PostgresStore, type PostgresStoreOptions, postgresStore } from '../src/index.ts'

/** A store with a long deadline for slow machines, for tests that do not test the deadline. */
export const unhurried = (database: Database, options: PostgresStoreOptions = {}): PostgresStore =>
  postgresStore(database, { deadline: '25s', ...options })
