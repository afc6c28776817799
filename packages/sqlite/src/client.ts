import type { StateRow } from '@spillway/stores'

/** A prepared statement of a synchronous client. */
export interface SqliteStatement {
  run(...values: (string | number)[]): { readonly changes: number | bigint }
  get(...values: (string | number)[]): unknown
  all(...values: (string | number)[]): unknown[]
}

/** The methods that are used of a `DatabaseSync` of `node:sqlite`, or of a `Database` of better-sqlite3 or libsql. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

/** The statements of a table. */
export interface Statements {
  readonly get: SqliteStatement
  readonly put: SqliteStatement
  readonly remove: SqliteStatement
  readonly range: SqliteStatement
  readonly next: SqliteStatement
}

/**
 * Creates the table, if it is missing, and prepares its statements. With a write-ahead log readers do not wait for a writer, and
 * a commit waits for no disk; a commit that is lost in a power failure is one of the last.
 */
export function preparedIn(database: SqliteDatabase, table: string): Statements {
  // How long a call blocks the process for a lock. The store tries again without blocking it.
  database.exec('PRAGMA busy_timeout = 5; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;')
  database.exec(
    `CREATE TABLE IF NOT EXISTS "${table}" (name TEXT PRIMARY KEY, state TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID`,
  )
  return {
    get: database.prepare(`SELECT name, state FROM "${table}" WHERE name = ?`),
    put: database.prepare(
      `INSERT INTO "${table}" VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state, expires = excluded.expires`,
    ),
    remove: database.prepare(`DELETE FROM "${table}" WHERE name = ?`),
    range: database.prepare(`SELECT name, state FROM "${table}" WHERE name >= ? AND name < ? ORDER BY name LIMIT ?`),
    next: database.prepare(`SELECT name, expires FROM "${table}" WHERE name > ? ORDER BY name LIMIT ?`),
  }
}

export const rowFrom = (row: unknown): readonly StateRow[] => (row === undefined ? [] : [row as StateRow])

// cspell:ignore CANTOPEN IOERR NOTADB

/** The codes of SQLite's errors: better-sqlite3 and libsql have them as text, `node:sqlite` as a number. */
const CODES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
}

const codeOf = (error: unknown): string => {
  const { code, errcode } = Object(error) as { code?: unknown; errcode?: unknown }
  // The upper bits say more, such as SQLITE_BUSY_SNAPSHOT.
  if (typeof errcode === 'number') return CODES[errcode & 0xff] ?? ''
  return Object.values(CODES).find((known) => typeof code === 'string' && code.startsWith(known)) ?? ''
}

/** Another process holds the lock, or has written what was read. */
export const isBusy = (error: unknown): boolean => ['SQLITE_BUSY', 'SQLITE_LOCKED'].includes(codeOf(error))

const HINTS: Readonly<Record<string, string>> = {
  SQLITE_BUSY: 'Another process or connection held the lock of the file. Give the store a connection of its own.',
  SQLITE_READONLY: 'The file, its folder or the connection is read-only. The process must be able to write both.',
  SQLITE_IOERR: 'The disk failed. A file on a network share has no locks that work.',
  SQLITE_CORRUPT: 'The file is damaged. Delete it: only counts are lost.',
  SQLITE_FULL: 'The disk is full, or the file has reached its max_page_count.',
  SQLITE_CANTOPEN: 'The folder of the file does not exist, or may not be read.',
  SQLITE_NOTADB: 'The file is no database of SQLite.',
}

export function hintOf(error: unknown): string | undefined {
  const { message } = Object(error) as { message?: unknown }
  if (/within a transaction/.test(String(message)))
    return 'The app has a transaction open on this connection. Give the store a connection of its own.'
  return HINTS[codeOf(error)]
}

/** Reports whether the table is missing: it was dropped, or the file was replaced. */
export const isMissing = (error: unknown): boolean => /no such table/.test(String(Object(error).message))
