import { type Database, type PostgresStore, type PostgresStoreOptions, postgresStore } from '../src/index.ts'

/** A store that waits for slow machines: for tests that are not about the deadline. */
export const unhurried = (database: Database, options: PostgresStoreOptions = {}): PostgresStore =>
  postgresStore(database, { deadline: '25s', ...options })
