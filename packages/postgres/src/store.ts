import {
  type Deadline,
  type Duration,
  type ListedState,
  type StateKey,
  type Step,
  type Store,
  StoreError,
  type Taken,
  withHashedKeys,
} from '@spillway/core'
import {
  checkBoolean,
  checkSecret,
  expiredError,
  isExpired,
  printableScope,
  REMOTE_LOG_LIMIT,
  setServerOf,
  withLate,
  withRemoteDefaults,
} from '@spillway/core/internal'
import {
  type Answers,
  type Call,
  coalescing,
  endOf,
  millis,
  nameAfter,
  type Send,
  TimeoutError,
  takenOf,
  type Until,
  untilIn,
  within,
} from '@spillway/stores/internal'
import { type Database, type PgQuery, runOn } from './clients.ts'
import { hashOf, keyed, keyIn, rowName, startOf } from './key.ts'
import { migratingOnce } from './migrating-once.ts'
import { migrated } from './migration.ts'
import { type MigrationOptions, namesFrom } from './options.ts'
import { isReadOnly, mustWrite, peeksOf } from './read-only.ts'
import { failure, retrying } from './retry.ts'
import { serverOf } from './server.ts'
import { sweepAll, sweepingEvery } from './sweep.ts'
import { bucketArguments, decodeBucket } from './take-bucket.ts'
import { callOf, decode, encode } from './wire.ts'

/** Options of `postgresStore`. */
export interface PostgresStoreOptions extends MigrationOptions {
  /**
   * Coalesces the checks of one event-loop tick into one statement. Each check still has its own decision.
   * @default `true`
   */
  readonly coalesce?: boolean
  /**
   * The maximum duration of a check, including waits for connections and locks, and retries. A shorter `deadline` of the
   * limiter takes precedence.
   * @default `'1s'`
   */
  readonly deadline?: Duration
  /**
   * Uses named prepared statements, which are slightly faster. Do not use it behind a pooler that shares sessions.
   * @default `false`
   */
  readonly prepare?: boolean
  /**
   * How often this process deletes expired states. The timer does not keep the process alive.
   * @default never
   */
  readonly sweepEvery?: Duration
  /**
   * A secret of 16 characters or more by which keys are hashed (HMAC-SHA-256), so that the database holds no address or
   * user id. All processes need the same secret; a new secret starts with new states.
   * @default keys are stored as they are
   */
  readonly hashKeys?: string
}

/** A store in PostgreSQL, with a method to stop its sweeps. */
export interface PostgresStore extends Store {
  /** Stops the sweeps. It does not close the pool. */
  close(): void
}

type Attempt = <T>(until: Until, work: (until: Until) => Promise<T>) => Promise<T>

const OPTIONS = ['table', 'schema', 'durability', 'coalesce', 'deadline', 'prepare', 'sweepEvery', 'hashKeys']

/**
 * Returns a remote store in PostgreSQL. It is exact at any isolation level, uses the database's clock, and writes
 * nothing for a denial. It creates its table before the first check if the table is missing.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if the database or an option is invalid
 *
 * @example
 * const limiter = rateLimiter({ quota: perMinute(100), store: postgresStore(new Pool({ max: 4 })) })
 */
export function postgresStore(database: Database, options: PostgresStoreOptions = {}): PostgresStore {
  const names = namesFrom('postgresStore', options, OPTIONS)
  const { durability = 'logged' } = options
  const coalesce = checkBoolean('coalesce', options.coalesce, true)
  const prepare = checkBoolean('prepare', options.prepare)
  const timeoutMs = millis('postgresStore deadline', options.deadline ?? '1s')
  const run = runOn(database)
  const migration = migratingOnce(() =>
    migrated(run, names, { unlogged: durability === 'unlogged', until: untilIn(timeoutMs) }),
  )
  /** Creates the table if needed, then retries `work` until the deadline. */
  const attempt: Attempt = async (until, work) => {
    try {
      const unready = migration.ready()
      if (unready !== undefined) await within(until.sendByMs, unready)
      return await retrying(until, work)
    } catch (error) {
      migration.invalidate(error)
      throw failure(error, timeoutMs)
    }
  }

  // The server cuts names of statements at 63 bytes, which the names of the schema and the table may exceed.
  const tableHash = hashOf(names.table).slice(1, 17)
  const queryOf = (name: string, types: string) => {
    const text = `SELECT ${names.call(name, types)} AS taken`
    return prepare ? { name: `${name} ${tableHash}`, text } : { text }
  }
  const queries = {
    take_calls: queryOf('take_calls', 'text text text int8 text bool'),
    take_bucket: queryOf('take_bucket', `text int8 int8 int8 int8 int4 ${'int8 '.repeat(5)}text int8 text bool`),
  }
  const answers = async (calls: readonly Call[], until: Until): Promise<Answers> => {
    let sent = calls
    let decodeSent = decode
    const query = (): PgQuery => {
      // What others take, whose callers have stopped waiting for a connection, would have to be refunded.
      sent = calls.filter(({ deadline }) => !isExpired(deadline))
      if (sent.length === 0) throw expiredError()
      const ofBucket = bucketArguments(sent)
      decodeSent = ofBucket ? decodeBucket : decode
      const values = [...(ofBucket ?? encode(sent)), sent[0]?.at ?? null, lockTimeoutOf(until), durability === 'async']
      return { ...queries[ofBucket ? 'take_bucket' : 'take_calls'], values }
    }
    const read = ([row]: readonly unknown[]): Answers => {
      const { taken } = (row ?? {}) as { taken?: unknown }
      // Such as by a client that renames columns.
      if (typeof taken !== 'string') {
        const columns = Object.keys(row ?? {}).join(', ') || 'none'
        throw new TypeError(`the client must return rows with the column "taken" as text; got the columns ${columns}`)
      }
      const decoded = decodeSent(sent, taken)
      if (sent.length === calls.length) return decoded
      const known = new Map(sent.map((call, i) => [call, decoded[i]]))
      return calls.map((call) => known.get(call) ?? expiredError())
    }
    try {
      return read(await run(query, until))
    } catch (error) {
      if (!(error instanceof TimeoutError) || error.late === undefined) throw error
      const late = error.late.then((rows) => (rows === undefined ? undefined : read(rows as readonly unknown[])))
      throw new TimeoutError(error.message, late)
    }
  }
  /** On a read-only server, still returns the results of calls that write nothing. */
  const statement = async (calls: readonly Call[], until: Until): ReturnType<Send> => {
    try {
      return await answers(calls, until)
    } catch (error) {
      if (!isReadOnly(error)) throw error
      // Nothing was taken. If the peeks fail, too, the first error has the reason.
      const peeked = await answers(peeksOf(calls), until).catch(() => Promise.reject(error))
      const isTaken = (taken: Answers[number], i: number): boolean =>
        taken instanceof StoreError || !mustWrite(calls[i] as Call, taken)
      return peeked.map((taken, i) => (isTaken(taken, i) ? taken : failure(error, timeoutMs)))
    }
  }
  const send: Send = (calls, until) => attempt(until, (left) => statement(calls, left))
  const single = async (call: Call): Promise<readonly Taken[]> => {
    const answers = await send([call], untilIn(timeoutMs, call.deadline)).catch((error: unknown) => {
      throw withLate(error, (late) => takenOf(late as Answers, 0))
    })
    return takenOf(answers, 0)
  }
  const put = coalesce ? coalescing({ send, timeoutMs, failure }) : single

  const rowsOf = (text: string, values: unknown[], deadline?: Deadline): Promise<readonly unknown[]> =>
    attempt(untilIn(timeoutMs, deadline), (left) =>
      run(() => ({ text, values: [...values, lockTimeoutOf(left)] }), left),
    )
  const deleteKeys = async (keys: readonly StateKey[], deadline?: Deadline): Promise<number> => {
    const text = `SELECT ${names.call('delete_keys', 'text text')} AS deleted`
    const [row] = await rowsOf(text, [keys.map(rowName).join('\n')], deadline)
    // A pool may have parsers of its own, which return text or a bigint.
    return Number((row as { deleted: unknown }).deleted)
  }
  const deleteAll = async (policies: readonly string[]): Promise<number> => {
    const text = `SELECT deleted, last FROM ${names.call('delete_range', RANGE)}`
    let deleted = 0
    for (const policy of policies) {
      const start = startOf(policy)
      const values: [string, string, number] = [start, endOf(start), BATCH]
      for (let count = BATCH; count === BATCH; ) {
        const [row] = await rowsOf(text, values)
        const { last, deleted: some } = row as { last: string | null; deleted: unknown }
        count = Number(some)
        deleted += count
        values[0] = last ?? start
      }
    }
    return deleted
  }
  async function* list(policy: string, step: Step): AsyncGenerator<readonly ListedState[]> {
    const start = startOf(policy)
    const text = `SELECT ${names.call('names_in', RANGE)} AS name`
    for (let [from, count] = [start, BATCH]; count === BATCH; ) {
      const rows = await rowsOf(text, [from, endOf(start), BATCH])
      const found = (rows as readonly { name: string }[]).map(({ name }) => name)
      const calls = found.map((name): Call => ({ ...UNTIMED, ops: [{ policy, key: '', step }], names: [name] }))
      const taken = calls.length === 0 ? [] : await attempt(untilIn(timeoutMs), (left) => answers(calls, left))
      yield found.map((name, i) => ({ ...keyIn(start, name), taken: takenOf(taken, i)[0] as Taken }))
      from = nameAfter(found.at(-1) ?? start)
      count = found.length
    }
  }
  setServerOf(database, () => serverOf(database))
  const store = withRemoteDefaults<Store>({
    scope: printableScope('PostgreSQL', database, names.table),
    maxLogLimit: REMOTE_LOG_LIMIT,
    take: (ops, at, deadline) => (ops.length === 0 ? Promise.resolve([]) : put(callOf(ops, at, deadline))),
    takeEach: async (batches, at, deadline) => {
      const calls = batches.map((ops) => callOf(ops, at, deadline))
      const answers = await send(calls, untilIn(timeoutMs, deadline))
      return answers.map((_, i) => takenOf(answers, i))
    },
    delete: deleteKeys,
    deleteAll,
    list,
  })
  return {
    ...('hashKeys' in options ? withHashedKeys(store, keyed(checkSecret('postgresStore', options.hashKeys))) : store),
    close: sweepingEvery(options.sweepEvery, () => sweepAll(run, names)),
  }
}

/** The server's lock timeout, 10 % shorter than that of the call: a call that has timed out takes no units later. */
const lockTimeoutOf = ({ sendByMs }: Until): string =>
  `${Math.max(Math.floor((sendByMs - performance.now()) * 0.9), 1)}`

/** A call that no caller waits for. */
const UNTIMED = { at: undefined, deadline: undefined }

/** The types of a range of names, how many of them, and a lock timeout. */
const RANGE = 'text text int4 text'

/** The maximum number of states that one statement deletes or lists. */
const BATCH = 1_000
