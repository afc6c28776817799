import { type Database, type Run, runOn } from './clients.ts'
import { type MigrationOptions, namesFrom } from './options.ts'
import { failure, retrying } from './retry.ts'
import { bucketSql } from './sql/bucket.ts'
import { consumeSql } from './sql/consume.ts'
import type { Names } from './sql/names.ts'
import { slidingLogSql } from './sql/sliding-log.ts'
import { slidingWindowSql } from './sql/sliding-window.ts'
import { takeSql } from './sql/take.ts'
import { takeSameSql } from './sql/take-same.ts'
import { type Until, untilIn } from './until.ts'

/** What `migrationSql` makes, counted up whenever it changes. */
export const VERSION = 7

/** Even IF NOT EXISTS needs CREATE on the database, which the owner of a schema may lack. */
const createSchemaSql = (schema: string): string => `DO $$ BEGIN
  IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA IF NOT EXISTS ${schema}; END IF;
END $$;
`

function schemaSql(names: Names, unlogged: boolean): string {
  const { table, schema, bare, fn } = names
  const index = `"${bare[1]}_expires"`
  return `-- Spillway's states and functions, version ${VERSION}. Runs in one transaction; harmless when it has run before.
SELECT pg_advisory_xact_lock(hashtextextended('spillway ${bare.join('.')}', 0));
${bare[0] === 'public' ? '' : createSchemaSql(schema)}
CREATE ${unlogged ? 'UNLOGGED ' : ''}TABLE IF NOT EXISTS ${table} (
  name text COLLATE "C" PRIMARY KEY, -- policy/key, or a hash of them where they are long or not plain text
  tat int8,                          -- a bucket's state; one that has seen refunds is in counts: tat, gross, turn, 0, 0
  counts int8[],                     -- a sliding window's: start, current, previous; a log's: moment, units, …
                                     -- beside tat: scale, early: so many parts of a microsecond earlier than tat
  expires int8 NOT NULL              -- microseconds since 1970: from then on the state is the same as none
) WITH (fillfactor = 50);            -- room for the next version beside the last: updates leave the indexes alone
CREATE INDEX IF NOT EXISTS ${index} ON ${table} (expires);
${bucketSql(names)}${slidingWindowSql(names)}${slidingLogSql(names)}${takeSql(names)}${takeSameSql(names)}${consumeSql(names)}
CREATE OR REPLACE FUNCTION ${fn('sweep')}(most int) RETURNS int
LANGUAGE plpgsql AS $$
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

/** The migration as plain SQL, for those who run their own: complete, and harmless when run again. */
export function migrationSql(options: MigrationOptions = {}): string {
  return schemaSql(namesFrom('migrationSql', options, OPTIONS), options.durability === 'unlogged')
}

/**
 * Makes the table and the functions unless they are there. Any number of processes may do so at once; a store does it
 * by itself before its first take.
 */
export async function migrate(database: Database, options: MigrationOptions = {}): Promise<void> {
  const names = namesFrom('migrate', options, OPTIONS)
  try {
    await migrated(runOn(database), names, { unlogged: options.durability === 'unlogged', until: untilIn(PATIENCE) })
  } catch (error) {
    throw failure(error, PATIENCE)
  }
}

/** How long a migration may take: it waits for others that are at it. */
const PATIENCE = 30_000

/** Migrates, unless the database says in time that there is nothing to do. */
export async function migrated(
  run: Run,
  names: Names,
  { unlogged, until }: { readonly unlogged: boolean; readonly until: Until },
): Promise<void> {
  if ((await versionOf(run, names, until)) >= VERSION) return
  await retrying(untilIn(PATIENCE), (left) => run({ text: schemaSql(names, unlogged) }, left))
}

/** Which migration the database has seen; 0 is none. A later one keeps what earlier code calls. */
async function versionOf(run: Run, { table, fn }: Names, until: Until): Promise<number> {
  const text = `SELECT ${fn('version')}() AS version FROM (VALUES (1)) one LEFT JOIN ${table} ON false`
  try {
    const [row] = await run({ text, values: [] }, until)
    return (row as { version: number }).version
  } catch (error) {
    // No such table, function or schema.
    if (['42P01', '42883', '3F000'].includes((error as { code?: string }).code ?? '')) return 0
    throw error
  }
}
