import { QuotaError } from '@spillway/core'
import { Late, type Until, within } from './until.ts'

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

/** Runs a query, or gives up in time. */
export type Run = (query: PgQuery, until: Until) => Promise<readonly unknown[]>

/** One way to run a query, whatever the client. A query without values may hold several statements. */
export function runOn(database: Database): Run {
  if (typeof database === 'object' && database !== null) {
    if ('exec' in database) return (query, until) => answerBy(until, runOnPglite(database, query))
    if ('escapeLiteral' in database) {
      throw new QuotaError(
        'ERR_SPILLWAY_OPTION',
        'postgresStore needs a pool of connections, `new Pool()` of pg; got a Client, which is one connection: requests would wait for each other, and a statement that is late could not be given up.',
      )
    }
    if ('connect' in database) return (query, until) => runOnPool(database, query, until)
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
async function runOnPool(pool: PgPool, query: PgQuery, until: Until): Promise<readonly unknown[]> {
  const connecting = pool.connect()
  const client = await within(until.sendByMs, connecting).catch((error: unknown) => {
    // It may still come: it goes back to the others then.
    connecting.then(
      (late) => late.release(),
      () => {},
    )
    throw error instanceof Late ? new Late(whyNoConnection(pool), undefined, 'pool') : error
  })
  // A connection that breaks while it is lent out says so by an event, too, which nobody else hears.
  client.on('error', ignore)
  const release = (isHealthy: boolean): void => {
    if (isHealthy) client.off('error', ignore)
    client.release(!isHealthy)
  }
  const sentMs = performance.now()
  const answer = client.query(query).then(({ rows }) => rows)
  try {
    const rows = await within(until.endMs, answer)
    release(true)
    return rows
  } catch (error) {
    // What the server has refused leaves the connection as it was; anything else leaves it in doubt.
    if (!(error instanceof Late)) release(isRefusal(error))
    else {
      // It may be answered yet: for as long again as it was waited for.
      const graceMs = until.endMs + (until.endMs - sentMs)
      const settled = within(graceMs, answer).then(
        (rows) => {
          release(true)
          return rows
        },
        (failed: unknown) => {
          release(isRefusal(failed))
          return undefined
        },
      )
      throw new Late(error.message, settled)
    }
    throw error
  }
}

/** Waits for what was sent; what comes later is told to whom it may concern. */
async function answerBy(until: Until, answer: Promise<readonly unknown[]>): Promise<readonly unknown[]> {
  try {
    return await within(until.endMs, answer)
  } catch (error) {
    throw error instanceof Late
      ? new Late(
          error.message,
          answer.catch(() => undefined),
        )
      : error
  }
}

/** What a pool says of itself. */
interface PoolCounts {
  readonly totalCount?: number
  readonly idleCount?: number
  readonly waitingCount?: number
}

function whyNoConnection(pool: PgPool & PoolCounts): string {
  const { totalCount, idleCount = 0, waitingCount } = pool
  if (totalCount === undefined) return 'no connection of the pool became free'
  return `no connection of the pool became free: ${totalCount - idleCount} of ${totalCount} are in use, and ${waitingCount} requests wait`
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
