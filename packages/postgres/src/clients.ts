import { formatValue } from '@spillway/core/internal'
import { answerBy, EARLIER_MS, TimeoutError, type Until, within } from '@spillway/stores/internal'
import { errorOfClient, otherClient } from './other-clients.ts'

/** A statement. If it has a name, it is a prepared statement. */
export interface PgQuery {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
}

/** The methods that are used of a pooled connection of `pg`. */
export interface PgClient {
  query(query: PgQuery): Promise<{ readonly rows: readonly unknown[] }>
  release(destroy?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * The methods that are used of a `Pool` of `pg` 8. If it emits events, as that does, the store listens to its `error`: a lost
 * connection does not end the process.
 */
export interface PgPool {
  connect(): Promise<PgClient>
}

/** The methods that are used of a `PGlite`, or that you write for another client. */
export interface PgLite {
  /** Runs one statement with `$1` and so on. Its errors have the `code` of PostgreSQL, such as `40001`. */
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
  /** Runs several statements without values. Only migrations need it. */
  exec(text: string): Promise<unknown>
}

/** The database of the states: a `Pool` of `pg`, a `PGlite`, or an object with the methods of either. */
export type Database = PgPool | PgLite

/** Runs a query until a deadline. A function makes it once there is a connection, for which a call may have waited long. */
export type Run = (query: PgQuery | (() => PgQuery), until: Until) => Promise<readonly unknown[]>

const made = (query: PgQuery | (() => PgQuery)): PgQuery => (typeof query === 'function' ? query() : query)

/** Returns a function that runs queries on any client. A query without values may contain several statements. */
export function runOn(database: Database): Run {
  if (typeof database === 'object' && database !== null) {
    // A PGlite has the methods of `neon()`, too.
    if ('exec' in database) return (query, until) => answerBy(until, runOnPglite(database, made(query)))
    // Others may connect, too, but not as a pool does.
    if ('connect' in database && otherClient(database) === undefined) {
      surviveLostConnections(database)
      const closings = boundedClosings()
      return (query, until) => runOnPool(database, query, until, closings)
    }
  }
  throw errorOfClient(database)
}

/** The events of a pool that are listened to. */
interface PoolEvents {
  on(event: 'error', listener: () => void): unknown
  on(event: 'connect', listener: (client: PgClient) => void): unknown
}

const survivors = new WeakSet<PgPool>()

/**
 * Without a listener, the error of a lost connection ends the process. A pool emits those of its idle connections. A new
 * connection may be lost before its caller can listen: the end may be in one packet with what opens it. Statements on a
 * connection that was lost fail, also those of the app.
 */
function surviveLostConnections(pool: PgPool & Partial<PoolEvents>): void {
  if (typeof pool.on !== 'function' || survivors.has(pool)) return
  survivors.add(pool)
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
}

async function runOnPglite(database: PgLite, { text, values }: PgQuery): Promise<readonly unknown[]> {
  if (values === undefined) {
    await database.exec(text)
    return []
  }
  const result: { readonly rows?: unknown } | undefined = await database.query(text, values)
  if (!Array.isArray(result?.rows))
    throw new TypeError(`query must resolve with { rows }, an array of objects; got ${formatValue(result)}`)
  return result.rows
}

/**
 * Runs a query on a pooled connection, and releases the connection. `pool.query` closes a connection whenever a
 * statement fails, even if the next statement would succeed.
 */
async function runOnPool(
  pool: PgPool,
  query: PgQuery | (() => PgQuery),
  until: Until,
  mayClose: () => boolean,
): Promise<readonly unknown[]> {
  const connecting = pool.connect()
  const client = await within(until.sendByMs - EARLIER_MS, connecting).catch((error: unknown) => {
    // A connection that arrives late is released to the pool.
    connecting.then(
      (late) => late.release(),
      () => {},
    )
    const why = whyNoConnection(pool, error)
    if (why === undefined) throw notSent(error)
    throw new TimeoutError(why, undefined, 'pool')
  })
  for (const method of ['query', 'release', 'on', 'off'] as const) {
    if (typeof client?.[method] === 'function') continue
    throw new TypeError(
      `connect of the pool resolved with no connection of pg: ${method} is ${formatValue(client?.[method])}`,
    )
  }
  // A checked-out connection also emits an error when it breaks. It may be older than the store, or of a pool without events.
  client.on('error', ignore)
  const release = (isHealthy: boolean): void => {
    if (isHealthy) client.off('error', ignore)
    client.release(!isHealthy)
  }
  let answer: Promise<readonly unknown[]>
  try {
    answer = client.query(made(query)).then(({ rows }) => rows)
  } catch (error) {
    // Nothing was sent.
    release(true)
    throw error
  }
  try {
    const rows = await within(until.endMs, answer)
    release(true)
    return rows
  } catch (error) {
    // After an error of the statement the connection is usable. After any other error it may not be.
    if (!(error instanceof TimeoutError)) release(isUsableAfter(error))
    else {
      const settled = within(until.lateMs, answer).then(
        (rows) => {
          release(true)
          return rows
        },
        (failed: unknown) => {
          if (failed instanceof TimeoutError && !mayClose()) releaseOnAnswer(answer, release)
          else release(isUsableAfter(failed))
          return undefined
        },
      )
      throw new TimeoutError(error.message, settled)
    }
    throw error
  }
}

/** How many connections without an answer are closed at once, and after how long one more may be. */
const MAX_CLOSINGS = 4
const CLOSING_EVERY_MS = 600_000

/**
 * Returns a function that reports whether one more connection may be closed because its statement is not answered. The server
 * does not notice that: the session stays, such as while its commit waits for a standby. If each were replaced, sessions would
 * use up the server's connections. One that is not closed stays in use, so that the pool opens no other for it.
 */
function boundedClosings(): () => boolean {
  let closings = 0
  let sinceMs = 0
  return () => {
    const nowMs = performance.now()
    const elapsed = Math.floor((nowMs - sinceMs) / CLOSING_EVERY_MS)
    if (elapsed > 0) {
      closings = Math.max(closings - elapsed, 0)
      sinceMs += elapsed * CLOSING_EVERY_MS
    }
    if (closings === MAX_CLOSINGS) return false
    if (closings === 0) sinceMs = nowMs
    closings++
    return true
  }
}

const unconnected = new WeakSet<object>()

/** Marks the error of a statement that was not sent, for want of a connection. */
function notSent(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) unconnected.add(error)
  return error
}

/** Reports whether a statement failed because no connection could be opened. */
export const hasNotConnected = (error: object): boolean => unconnected.has(error)

function releaseOnAnswer(answer: Promise<unknown>, release: (isHealthy: boolean) => void): void {
  answer.then(
    () => release(true),
    (error: unknown) => release(isUsableAfter(error)),
  )
}

/** The counters of a pool. */
interface PoolCounts {
  readonly totalCount?: number
  readonly idleCount?: number
  readonly waitingCount?: number
}

/** Why there was no connection in time; undefined if that is not the error. */
function whyNoConnection(pool: PgPool & PoolCounts, error: unknown): string | undefined {
  if (!(error instanceof TimeoutError)) {
    // The pool's own timeout, `connectionTimeoutMillis`, has no code. It is shorter than the deadline.
    const { message } = (error ?? {}) as { message?: unknown }
    if (message === 'Connection terminated due to connection timeout')
      return 'no connection of the pool was opened in time'
    if (message !== 'timeout exceeded when trying to connect') return undefined
  }
  const { totalCount, idleCount = 0, waitingCount } = pool
  if (totalCount === undefined) return 'no connection of the pool became free'
  return `no connection of the pool became free: ${totalCount - idleCount} of ${totalCount} are in use, and ${waitingCount} requests wait`
}

function ignore(): void {}

/**
 * Reports whether a connection is usable after an error of its statement. If a server or pooler closes the connection,
 * the severity is FATAL, which some servers translate; class 57P is the same in all languages. If the app has left it in an
 * aborted transaction, 25P02, every statement fails until it is closed.
 */
function isUsableAfter(error: unknown): boolean {
  const { severity, code = '' } = error as { severity?: unknown; code?: string }
  return typeof severity === 'string' && severity !== 'FATAL' && !code.startsWith('57P') && code !== '25P02'
}
