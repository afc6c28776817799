import { TimeoutError, type Until, untilIn } from '@spillway/stores/internal'
import { type Database, type Run, runOn } from './clients.ts'
import { isMissing } from './migrating-once.ts'
import { type MigrationOptions, namesFrom } from './options.ts'
import { failure, retrying } from './retry.ts'
import { bucketSql } from './sql/bucket.ts'
import { consumeSql } from './sql/consume.ts'
import { earlierSql } from './sql/earlier.ts'
import { type Names, qualified, SAFE_PATH } from './sql/names.ts'
import { penaltySql } from './sql/penalty.ts'
import { rowsSql } from './sql/rows.ts'
import { slidingLogSql } from './sql/sliding-log.ts'
import { slidingWindowSql } from './sql/sliding-window.ts'
import { slotsSql } from './sql/slots.ts'
import { takeSql } from './sql/take.ts'
import { takeBucketSql } from './sql/take-bucket.ts'
import { warmUpSql } from './sql/warm-up.ts'

/** The version of `migrationSql`, incremented with each change. */
export const VERSION = 28

/** CREATE SCHEMA IF NOT EXISTS needs CREATE on the database, which the owner of a schema may not have. */
const createSchemaSql = (schema: string): string => `DO $$ BEGIN
  IF pg_catalog.to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA IF NOT EXISTS ${schema}; END IF;
END $$;
`

const FUNCTIONS = [
  ...[bucketSql, slidingWindowSql, slidingLogSql, warmUpSql, penaltySql, slotsSql],
  ...[takeSql, takeBucketSql, rowsSql, consumeSql, earlierSql],
]

/** One migration at a time. */
const lockSql = ({ bare }: Names): string =>
  `SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('spillway ${bare.join('.')}', 0));\n`

function schemaSql(names: Names, unlogged: boolean): string {
  const { table, schema, bare, fn } = names
  const index = `"${bare[1]}_expires"`
  return `-- Spillway's states and functions, version ${VERSION}. Runs in one transaction, and can be run again.
${lockSql(names)}${bare[0] === 'public' ? '' : createSchemaSql(schema)}
CREATE ${unlogged ? 'UNLOGGED ' : ''}TABLE IF NOT EXISTS ${table} (
  name text COLLATE "C" PRIMARY KEY, -- policy/key; a hash replaces either if it is long or not plain text
  tat int8,                          -- a bucket's theoretical arrival time; after refunds counts has: tat, gross, turn, 0, 0
  counts int8[],                     -- a sliding window: start, current, previous; a log: time, units, and so on
                                     -- a key's that warms up: written at, ahead, early, cold, scale, 0, 0, 0, 0
                                     -- a penalty's: written at, first, count, until, level, last, 0, 0, 0, 0, 0
                                     -- slots: last number, ttl, eleven zeros, number, end, and so on
                                     -- beside tat: scale, early: so many parts of a microsecond earlier than tat
  expires int8 NOT NULL              -- microseconds since 1970: afterwards the row may be swept
) WITH (fillfactor = 50);            -- room for new row versions on the same page: updates need not change the indexes
-- IF NOT EXISTS would lock the table first: each take would wait until no transaction that has written to it is open.
DO $$ BEGIN
  IF pg_catalog.to_regclass('${schema}.${index}') IS NULL THEN CREATE INDEX ${index} ON ${table} (expires); END IF;
END $$;
${qualified(FUNCTIONS.map((sqlOf) => sqlOf(names)).join(''))}
CREATE OR REPLACE FUNCTION ${fn('sweep')}(most int) RETURNS int
LANGUAGE plpgsql ${SAFE_PATH} SET lock_timeout = '27s' AS $$
DECLARE swept int;
BEGIN
  DELETE FROM ${table} WHERE name = ANY (ARRAY(
    SELECT t.name FROM ${table} t WHERE t.expires < (extract(epoch FROM clock_timestamp()) * 1000000)::int8
    ORDER BY t.expires LIMIT most FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS swept = ROW_COUNT;
  RETURN swept;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('version')}() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT ${VERSION} $$;
`
}

const OPTIONS = ['table', 'schema', 'durability']

/** Returns the migration as plain SQL, for your own migration tool. It is complete, and can be run again. */
export function migrationSql(options: MigrationOptions = {}): string {
  return schemaSql(namesFrom('migrationSql', options, OPTIONS), options.durability === 'unlogged')
}

/**
 * Creates the table and the functions if they are missing. Any number of processes may call it at once. A store calls
 * it before its first check.
 * @throws `StoreError` if the database fails or does not answer in 30 s
 */
export async function migrate(database: Database, options: MigrationOptions = {}): Promise<void> {
  const names = namesFrom('migrate', options, OPTIONS)
  const run = runOn(database)
  try {
    await migrated(run, names, { unlogged: options.durability === 'unlogged', until: untilIn(TIMEOUT_MS) })
  } catch (error) {
    throw failure(error, TIMEOUT_MS)
  }
}

/** The timeout of a migration, which waits for concurrent migrations, in milliseconds. */
const TIMEOUT_MS = 30_000

/** Sets the lock timeout: without one, a session of the server would wait longer than its client. */
const lockTimeoutSql = (duration: string): string =>
  `SELECT pg_catalog.set_config('lock_timeout', '${duration}', true);\n`

/**
 * The migration as `migrate` sends it. It waits for another migration first, and then looks whether that was one of this
 * version or a later one. Then it waits for no lock for long: all takes would wait behind it.
 */
function migratingSql(names: Names, unlogged: boolean): string {
  const version = `${names.fn('version')}()`
  return `SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
${lockTimeoutSql('27s')}${lockSql(names)}${lockTimeoutSql('100ms')}
DO $migrate$
DECLARE version int := 0;
BEGIN
  IF to_regclass('${names.table}') IS NOT NULL AND to_regprocedure('${version}') IS NOT NULL THEN
    EXECUTE 'SELECT ${version}' INTO version;
  END IF;
  IF version < ${VERSION} THEN EXECUTE $schema$${schemaSql(names, unlogged)}$schema$; END IF;
END
$migrate$;
`
}

/** Migrates if the database has no or an older version. */
export async function migrated(
  run: Run,
  names: Names,
  { unlogged, until }: { readonly unlogged: boolean; readonly until: Until },
): Promise<void> {
  try {
    if ((await versionOf(run, names, until)) >= VERSION) return
    const text = migratingSql(names, unlogged)
    await retrying(untilIn(TIMEOUT_MS), (left) => run({ text }, left), { ifLocked: true })
  } catch (error) {
    if (!(error instanceof TimeoutError) || error.late === undefined) throw error
    // The late answer is to the migration. The call that waited for it has sent nothing.
    throw new TimeoutError('the migration was not answered in time')
  }
}

/** The version of the database's migration; 0 if there is none. A later version keeps the functions of earlier ones. */
async function versionOf(run: Run, { table, fn }: Names, until: Until): Promise<number> {
  // To read the table would wait while it is locked. No operator: `search_path` may find one of another role. cspell:ignore regclass
  const found = `pg_catalog.to_regclass('${table}')`
  const text = `SELECT CASE WHEN ${found} IS NULL THEN 0 ELSE ${fn('version')}() END AS version`
  try {
    const [row] = await run({ text, values: [] }, until)
    return (row as { version: number }).version
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}
