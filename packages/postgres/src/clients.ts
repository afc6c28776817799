import { QuotaError } from '@spillway/core'

/** What is asked of a connection: a statement, prepared under its name where it has one. */
export interface PgQuery {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
}

/** What is used of a connection that `pg` lends. */
export interface PgClient {
  query(query: PgQuery): Promise<{ readonly rows: readonly unknown[] }>
  release(destroy?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

/** What is used of a `Pool` of `pg` 8. */
export interface PgPool {
  connect(): Promise<PgClient>
}

/** What is used of a `PGlite`. */
export interface PgLite {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
  exec(text: string): Promise<unknown>
}

/** Where the states live: a `Pool` of `pg`, or a `PGlite`. */
export type Database = PgPool | PgLite

/** Runs a query, or gives up after `patience` milliseconds. */
export type Run = (query: PgQuery, patience: number) => Promise<readonly unknown[]>

/** One way to run a query, whatever the client. A query without values may hold several statements. */
export function runOn(database: Database): Run {
  if (typeof database === 'object' && database !== null) {
    if ('exec' in database) return (query, patience) => within(patience, runOnPglite(database, query))
    if ('connect' in database) return (query, patience) => runOnPool(database, query, patience)
  }
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'postgresStore needs a pool of connections: `new Pool()` of pg, or `new PGlite()`.',
  )
}

async function runOnPglite(database: PgLite, { text, values }: PgQuery): Promise<readonly unknown[]> {
  if (values !== undefined) return (await database.query(text, values)).rows
  await database.exec(text)
  return []
}

/**
 * Borrows a connection, and brings it back in good order. `pool.query` is not for us: it throws a connection away
 * whenever a statement fails, also where the next statement would succeed.
 */
async function runOnPool(pool: PgPool, query: PgQuery, patience: number): Promise<readonly unknown[]> {
  const start = performance.now()
  const connecting = pool.connect()
  const client = await within(patience, connecting).catch((error: unknown) => {
    // It may still come: it goes back to the others then.
    connecting.then(
      (late) => late.release(),
      () => {},
    )
    throw error
  })
  // A connection that breaks while it is lent out says so by an event, too, which nobody else hears.
  client.on('error', ignore)
  try {
    const { rows } = await within(patience - (performance.now() - start), client.query(query))
    client.off('error', ignore)
    client.release()
    return rows
  } catch (error) {
    // What the server has refused leaves the connection as it was; anything else leaves it in doubt.
    const healthy = isRefusal(error)
    if (healthy) client.off('error', ignore)
    client.release(!healthy)
    throw error
  }
}

function ignore(): void {}

/**
 * A statement that failed while its connection lives on. A server or pooler that ends it calls that fatal, though some
 * servers do so in the language of their country; class 57P is the same in all.
 */
function isRefusal(error: unknown): boolean {
  const { severity, code = '' } = error as { severity?: unknown; code?: string }
  return typeof severity === 'string' && severity !== 'FATAL' && !code.startsWith('57P')
}

/** Nobody answered in time. The work may still be done, by whoever did not answer. */
export class Late extends Error {
  override readonly name = 'Late'
}

/** Waits for a promise, but no longer than `patience` milliseconds. */
export function within<T>(patience: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Late('no answer in time')), patience)
    promise.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
