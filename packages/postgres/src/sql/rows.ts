import { type Names, SAFE_PATH } from './names.ts'

/**
 * The functions that delete and list rows. Each sets its lock timeout first: a statement would wait for the lock of the
 * table before it could.
 *
 * - `names`: the rows' names, one per line. `range_start`, `range_end`, `most`: the first rows of a range of names.
 * - Rows are locked in the order of their names, like those of takes, which prevents deadlocks.
 */
export const rowsSql = ({ table, fn }: Names): string => {
  const range = `FROM ${table} t WHERE t.name >= range_start AND t.name < range_end ORDER BY t.name LIMIT most`
  const settings = "settings CONSTANT text := set_config('lock_timeout', lock_timeout_ms, true);"
  return `
CREATE OR REPLACE FUNCTION ${fn('delete_keys')}(names text, lock_timeout_ms text) RETURNS int
LANGUAGE plpgsql ${SAFE_PATH} AS $$
DECLARE
  ${settings}
  deleted int;
BEGIN
  WITH found AS (
    SELECT t.name FROM ${table} t WHERE t.name = ANY (string_to_array(names, E'\\n')) ORDER BY t.name FOR UPDATE
  ) DELETE FROM ${table} t USING found f WHERE t.name = f.name;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('delete_range')}
  (range_start text, range_end text, most int, lock_timeout_ms text, OUT deleted int, OUT last text)
LANGUAGE plpgsql ${SAFE_PATH} AS $$
DECLARE
  ${settings}
BEGIN
  WITH found AS (
    SELECT t.name ${range} FOR UPDATE
  ), gone AS (
    DELETE FROM ${table} t USING found f WHERE t.name = f.name RETURNING t.name
  ) SELECT count(*), max(name) INTO deleted, last FROM gone;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('names_in')}(range_start text, range_end text, most int, lock_timeout_ms text) RETURNS SETOF text
LANGUAGE plpgsql ${SAFE_PATH} AS $$
DECLARE
  ${settings}
BEGIN
  RETURN QUERY SELECT t.name ${range};
END
$$;
`
}
