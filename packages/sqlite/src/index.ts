export type { SqliteDatabase, SqliteStatement } from './client.ts'
export { type SqliteStoreOptions, sqliteStore } from './store.ts'
